"""Which faults can a user act on, and how does the process end for each?

One root, ``HermesCronError``: the message is the fact and the place, ``hint`` the next command, ``code`` the spelling
scripts see in ``--json``, ``exit_code`` the process's. Anything else that escapes is a bug of ours and keeps its
traceback. ``docs/exit-codes.md`` is generated from this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from hermes_cron.domain import transcript


class HermesCronError(Exception):
    """A fault with a remedy. ``details`` are extra members of the JSON error object (plain JSON values)."""

    code: ClassVar[str] = "Error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}


# --- 1: it ran and failed -------------------------------------------------------------------------------------------


class RunFailed(HermesCronError):
    """The run ended in any state but ``ok``; its row says which."""

    code = "RunFailed"


class NotDelivered(HermesCronError):
    """A message did not arrive, or nobody knows; the message has the target's answer."""

    code = "NotDelivered"


class DiskFull(HermesCronError):
    """A write failed for want of space; the old state was kept."""

    code = "DiskFull"


class NotWritable(HermesCronError):
    """A file or folder refuses to be written: permission, a read-only file system, a missing folder."""

    code = "NotWritable"


class ServiceFailed(HermesCronError):
    """A command of the host's service manager did not go well, or there is none."""

    code = "ServiceFailed"


class NotRunning(HermesCronError):
    """No scheduler lives on this home."""

    code = "NotRunning"


# --- 2: not understood, invalid -------------------------------------------------------------------------------------


class Usage(HermesCronError):
    """Options that exclude each other, a missing argument, a value of the wrong form."""

    code = "Usage"
    exit_code = 2


class ScheduleInvalid(HermesCronError):
    """Not wholly understood, out of range, or a day without a time."""

    code = "ScheduleInvalid"
    exit_code = 2


class ScheduleAmbiguous(HermesCronError):
    """Two readings; the hint has both spellings."""

    code = "ScheduleAmbiguous"
    exit_code = 2


class ScheduleInPast(HermesCronError):
    """No instant is left."""

    code = "ScheduleInPast"
    exit_code = 2


class ScheduleNeverFires(HermesCronError):
    """No instant ever: 30 February."""

    code = "ScheduleNeverFires"
    exit_code = 2


class PromptEmpty(HermesCronError):
    """Nothing after the colon."""

    code = "PromptEmpty"
    exit_code = 2


class JobFileError(HermesCronError):
    """Unknown key, wrong type, unknown name in a job file; the message begins with file:line."""

    code = "JobFileError"
    exit_code = 2


class SkillFrontmatterError(HermesCronError):
    """SKILL.md's front matter does not parse; the message begins with file:line."""

    code = "SkillFrontmatterError"
    exit_code = 2


class SkillEncodingError(HermesCronError):
    """SKILL.md is not UTF-8."""

    code = "SkillEncodingError"
    exit_code = 2


class SkillNameMissing(HermesCronError):
    """SKILL.md names no skill."""

    code = "SkillNameMissing"
    exit_code = 2


class SkillNameInvalid(HermesCronError):
    """A skill's name breaks the rule of agentskills.io."""

    code = "SkillNameInvalid"
    exit_code = 2


class PlaybookInvalid(HermesCronError):
    """A playbook does not parse or says something the format has not; the message begins with file:line."""

    code = "PlaybookInvalid"
    exit_code = 2


class PatchNoMatch(HermesCronError):
    """The text to replace is absent; the message has the nearest lines."""

    code = "PatchNoMatch"
    exit_code = 2


class PatchAmbiguous(HermesCronError):
    """The text to replace stands at several places."""

    code = "PatchAmbiguous"
    exit_code = 2


# --- 3: not found, several ------------------------------------------------------------------------------------------


class NotFound(HermesCronError):
    """No such thing; the hint has the nearest names."""

    code = "NotFound"
    exit_code = 3


class MergeTargetMissing(NotFound):
    """A skill is to be merged into one that is not there: nothing is merged."""

    code = "MergeTargetMissing"


class NameAmbiguous(HermesCronError):
    """Several things fit the name or prefix."""

    code = "NameAmbiguous"
    exit_code = 3


class SkillAmbiguous(HermesCronError):
    """Several skills carry this name."""

    code = "SkillAmbiguous"
    exit_code = 3


# --- 4: refused by a guard ------------------------------------------------------------------------------------------


class TextBlocked(HermesCronError):
    """The scanner blocked a text that an agent would read; the message has the class and the place."""

    code = "TextBlocked"
    exit_code = 4


class MemoryFull(HermesCronError):
    """An entry does not fit into the memory; nothing was changed. ``current_entries`` and ``usage`` are beside it."""

    code = "MemoryFull"
    exit_code = 4


class MemoryDelimiterInContent(HermesCronError):
    """An entry of the memory that would read back as two."""

    code = "MemoryDelimiterInContent"
    exit_code = 4


class SqlNotReadOnly(HermesCronError):
    """The read-only guard refused a statement before it reached the wire."""

    code = "SqlNotReadOnly"
    exit_code = 4


class AccountTooPowerful(HermesCronError):
    """A database account that could write."""

    code = "AccountTooPowerful"
    exit_code = 4


class SecretInPlainSight(HermesCronError):
    """A password in a URL, an argument or a file where secrets do not belong."""

    code = "SecretInPlainSight"
    exit_code = 4


class SkillOutsideRoot(HermesCronError):
    """A link that leaves the allowed roots."""

    code = "SkillOutsideRoot"
    exit_code = 4


class ImportUnsafePath(HermesCronError):
    """An archive with a name that leads out of the folder it is unpacked into, or with what is no file of a home."""

    code = "ImportUnsafePath"
    exit_code = 4


class Refused(HermesCronError):
    """A guard said no; the message says which and why."""

    code = "Refused"
    exit_code = 4


# --- 5: conflict ----------------------------------------------------------------------------------------------------


class Conflict(HermesCronError):
    """Hand edits kept, already running, the name is taken, locked."""

    code = "Conflict"
    exit_code = 5


# --- 6: a person is needed ------------------------------------------------------------------------------------------


class PersonNeeded(HermesCronError):
    """Somebody must say yes first, and nobody can be asked here; what would be done is said before it."""

    code = "PersonNeeded"
    exit_code = 6


# --- 78: configuration ----------------------------------------------------------------------------------------------


class ConfigError(HermesCronError):
    """config.toml or the environment: unparsable, unknown or mistyped key."""

    code = "ConfigError"
    exit_code = 78


class HomeMissing(HermesCronError):
    """A command that needs a home found none."""

    code = "HomeMissing"
    exit_code = 78


class SchemaTooNew(HermesCronError):
    """The store was written by a newer hermes-cron."""

    code = "SchemaTooNew"
    exit_code = 78


class StoreDamaged(HermesCronError):
    """The bytes of state.db are not what was written."""

    code = "StoreDamaged"


class SnapshotFailed(HermesCronError):
    """No commit could be made before a change, so the change did not happen."""

    code = "SnapshotFailed"


class BackupDamaged(HermesCronError):
    """The bytes of a backup are not what was written, or they are no backup."""

    code = "BackupDamaged"


class UpgradeFailed(HermesCronError):
    """An upgrade would have lost or changed something, so the old state was put back."""

    code = "UpgradeFailed"


class ExtraMissing(HermesCronError):
    """A driver that is an optional extra is not installed; the hint has the install line."""

    code = "ExtraMissing"
    exit_code = 78


class VaultError(HermesCronError):
    """The vault cannot be opened: key missing, wrong, or the file damaged."""

    code = "VaultError"
    exit_code = 78


# --- a database that does not answer --------------------------------------------------------------------------------


class DatabaseError(HermesCronError):
    """A database refused the connection or the statement. Never holds a password."""

    code = "DatabaseError"


# --- the model (in a run: retried by kind, or the run ends ``failed`` with ``reason``) -------------------------------


class ModelError(HermesCronError):
    """A model call that gave no usable reply. ``reason`` is the run's word for it.

    ``passing``: it may pass by itself, so the run waits and goes on. ``paid``: the call may have cost something; set on
    the error where its kind does not say. ``usage`` is what the provider reported for it, None when it did not, and
    ``cost_usd`` what that cost, None when nobody knows.
    ``retry_after_s`` is what the server asked for (RFC 9110 10.2.3), None when it did not say.
    """

    code = "ModelError"
    reason: ClassVar[str] = "model_error"
    passing: ClassVar[bool] = False
    paid: bool = False
    usage: transcript.Usage | None = None
    cost_usd: float | None = None
    retry_after_s: float | None = None


class ModelRateLimited(ModelError):
    """HTTP 429: too much for now."""

    code = "ModelRateLimited"
    reason = "rate_limited"
    passing = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class ModelQuota(ModelError):
    """HTTP 429 or 402 because the account's credit or quota is used up: waiting does not help."""

    code = "ModelQuota"
    reason = "quota_exhausted"


class ModelOverloaded(ModelError):
    """HTTP 5xx."""

    code = "ModelOverloaded"
    reason = "model_overloaded"
    passing = True


class ModelUnreachable(ModelError):
    """No connection: DNS, refused, TLS."""

    code = "ModelUnreachable"
    reason = "model_unreachable"
    passing = True


class ModelTimeout(ModelError):
    """No answer within the configured limit."""

    code = "ModelTimeout"
    reason = "model_timeout"
    passing = True
    paid = True


class ModelAuth(ModelError):
    """HTTP 401 or 403: the key is missing, wrong or not allowed."""

    code = "ModelAuth"
    reason = "model_auth"


class ModelBadRequest(ModelError):
    """HTTP 400, 422: a parameter that the model does not take, a message that it does not read."""

    code = "ModelBadRequest"
    reason = "model_bad_request"


class ModelUnknown(ModelBadRequest):
    """The server has no model of that name, or not at that address: another model may answer."""

    code = "ModelUnknown"


class ModelContextLength(ModelError):
    """The conversation is longer than the model's window.

    ``window`` and ``requested`` are tokens as the server said them, None where it did not.
    """

    code = "ModelContextLength"
    reason = "context_length"
    window: int | None = None
    requested: int | None = None


class ModelReplyCut(ModelError):
    """The reply reached its output limit before its first word: asking again with the same limit ends there again."""

    code = "ModelReplyCut"
    reason = "reply_truncated"
    paid = True


class ModelRefused(ModelError):
    """The provider's content filter, or the model's own refusal."""

    code = "ModelRefused"
    reason = "model_refused"
    paid = True


class ModelGarbage(ModelError):
    """Status 200 and no completion: an HTML page, broken JSON, no choices."""

    code = "ModelGarbage"
    reason = "model_garbage"
    paid = True


class StreamTruncated(ModelError):
    """The reply ended without a finish reason."""

    code = "StreamTruncated"
    reason = "stream_truncated"
    passing = True
    paid = True


class StreamStalled(ModelError):
    """Frames but no content for longer than the stall limit."""

    code = "StreamStalled"
    reason = "stream_stalled"
    passing = True
    paid = True


class EmptyReply(ModelError):
    """Neither text nor tool calls."""

    code = "EmptyReply"
    reason = "empty_reply"
    paid = True


class BudgetExceeded(HermesCronError):
    """A cap on tokens or dollars would be passed by the next model call; the message names the cap and its use."""

    code = "BudgetExceeded"
    exit_code = 4


class ModelNotConfigured(ModelError):
    """No model, and no playbook fits the task."""

    code = "ModelNotConfigured"
    reason = "no_model"


class PlaybookOneDatabase(ModelNotConfigured):
    """A playbook looks at one database a run, and the job names several: leaving some out would be silence."""

    code = "PlaybookOneDatabase"
    exit_code = 2
    reason = "several_databases"


class PlaybookFailed(ModelError):
    """A playbook ran and could check nothing: a report of "nothing found" would be a lie."""

    code = "PlaybookFailed"
    reason = "nothing_checked"


class PlaybookDatabaseUnreachable(PlaybookFailed):
    """The database answered no statement of a playbook."""

    code = "PlaybookDatabaseUnreachable"
    reason = "database_unreachable"
    passing = True


# --- tools ----------------------------------------------------------------------------------------------------------


class ToolFailed(HermesCronError):
    """A tool's own "no": the model sees the message and goes on. Never ends a run by itself."""

    code = "ToolFailed"


class InvalidArguments(ToolFailed):
    """A tool call's arguments are not JSON, not an object, or do not fit the schema."""

    code = "InvalidArguments"
