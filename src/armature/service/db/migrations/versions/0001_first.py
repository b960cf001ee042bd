"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("decisions", sa.BigInteger, nullable=False),
        sa.Column("rewards", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "event",
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("decision_id", sa.String(48)),
        sa.Column("arm", sa.Integer),
        sa.Column("value", sa.Double),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("detail", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "decision",
        sa.Column("id", sa.String(48), primary_key=True),
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), nullable=False),
        sa.Column("request_id", sa.String(200)),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("unit", sa.String(200)),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("probability", sa.Double),
        sa.Column("asked_seq", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("status", sa.String(10), nullable=False),
        sa.UniqueConstraint("experiment_id", "request_id", "place"),
        sqlite_with_rowid=False,
    )
    waiting = sa.text("status = 'open' AND expires_at IS NOT NULL")
    op.create_index(
        "decision_waiting",
        "decision",
        ["expires_at"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.create_table(
        "reward",
        sa.Column("decision_id", sa.String(48), sa.ForeignKey("decision.id"), primary_key=True),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "assignment",
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
        sa.Column("unit", sa.String(200), primary_key=True),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("until", sa.Double),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshot",
        sa.Column("experiment_id", sa.Integer, sa.ForeignKey("experiment.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("checksum", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "api_key",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
    )
