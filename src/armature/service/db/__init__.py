"""The database: schema, connections, migrations, keys."""
