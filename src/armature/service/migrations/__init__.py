"""How the schema came to be: Alembic's migrations, which `armature.service.migrate` runs."""
