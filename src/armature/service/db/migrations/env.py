"""Runs migrations on the connection, and in the transaction, that `migrate` has opened."""

from alembic import context

from armature.service.db.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
