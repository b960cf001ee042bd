"""What is stored, and where: schema, connections, migrations, keys."""
