"""The store: SQLModel tables on SQLite (WAL), one writing connection, one journal."""
