"""Where does everything of a home lie? A home is a directory; this module only knows its paths."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Home:
    """Paths inside a home. Nothing here touches the disk."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def memories(self) -> Path:
        return self.root / "memories"

    @property
    def outputs(self) -> Path:
        return self.root / "outputs"

    @property
    def store(self) -> Path:
        return self.root / "state.db"

    @property
    def vault(self) -> Path:
        return self.root / "vault.json"

    @property
    def vault_key(self) -> Path:
        return self.root / "vault.key"

    @property
    def tools(self) -> Path:
        """Tool plug-ins of this home: one file a tool."""
        return self.root / "tools"

    @property
    def history(self) -> Path:
        """The snapshots: a bare git repository."""
        return self.root / "snapshots.git"

    @property
    def unfinished_change(self) -> Path:
        """There while a change of the home is under way, or since its process died (``snapshots.held.MARKER``)."""
        return self.history / "hermes-cron-pending"

    @property
    def run(self) -> Path:
        """What lives only while processes do: owner locks, the wake file."""
        return self.root / "run"

    @property
    def owners(self) -> Path:
        """One lock file a process that owns runs (decision 5)."""
        return self.run / "owners"

    @property
    def wake(self) -> Path:
        """Touched by whoever changed the store, so that a scheduler looks at once."""
        return self.run / "wake"

    @property
    def work(self) -> Path:
        """Scratch folders, one a run."""
        return self.root / "work"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def is_home(self) -> bool:
        """A directory with a config.toml is a home."""
        return self.config.is_file()


def with_tilde(path: Path) -> str:
    """As people read it: ``~`` for the user's own folder."""
    own = Path.home()
    return f"~/{path.relative_to(own)}" if path.is_relative_to(own) and path != own else str(path)
