"""Events, decisions and the arms that units keep are those of a segment."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """A column for the number of the segment; nothing, or 0, where there are no segments."""
    op.add_column("event", sa.Column("segment", sa.Integer))
    op.add_column("decision", sa.Column("segment", sa.Integer))
    op.rename_table("assignment", "assignment_before")
    op.create_table(
        "assignment",
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
        sa.Column("unit", sa.String(200), primary_key=True),
        sa.Column("segment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("until", sa.Double),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO assignment (experiment_id, unit, segment, arm, until) "
        "SELECT experiment_id, unit, 0, arm, until FROM assignment_before"
    )
    op.drop_table("assignment_before")
