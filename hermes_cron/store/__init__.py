"""The store: SQLModel tables on SQLite (WAL), one writer thread, one journal."""
