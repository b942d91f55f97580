"""The first tables: decisions, leases, people, settings, jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "decisions",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("who", sa.String(80), nullable=False),
        sa.Column("batch", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("view", sa.String(16), nullable=False),
        sa.Column("image", sa.Text, nullable=False),
        sa.Column("tag", sa.Text, nullable=False),
        sa.Column("value", sa.SmallInteger, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("probability", sa.Double),
        sa.Column("target", sa.Text),
    )
    op.create_table(
        "leases",
        sa.Column("image", sa.Text, primary_key=True),
        sa.Column("tag", sa.Text, primary_key=True),
        sa.Column("who", sa.String(80), nullable=False),
        sa.Column("expires", sa.Double, nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("session", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(80), nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("who", sa.String(80), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("pid", sa.Integer),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("message", sa.Text),
    )


def downgrade() -> None:
    """Drop them."""
    for name in ("jobs", "settings", "people", "leases", "decisions"):
        op.drop_table(name)
