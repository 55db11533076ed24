"""How is a message mailed, and how far did it get when that failed?

Before the text went out whole, a failure means "not sent" and the next try is safe. After it, without the server's
word, nobody knows, and mail has no way to drop a second copy: ``unknown``.
"""

from __future__ import annotations

import contextlib
import re
import smtplib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from hermes_cron.deadline import Deadline
from hermes_cron.delivery.said import ANSWER_BYTES, line
from hermes_cron.domain.delivery import Answer, Heard, Message
from hermes_cron.domain.target import Tls

if TYPE_CHECKING:
    from hermes_cron.domain.target import TargetConfig

_PORTS = {Tls.STARTTLS: 587, Tls.TLS: 465, Tls.NONE: 25}
_ADDRESS = re.compile(r"[!-?A-~]{1,64}@[A-Za-z0-9.\[\]:_-]{1,255}")
_BARE = re.compile(r"<([^<>]*)>\s*$")


class _Stopped(Exception):  # carries an answer out of a conversation
    def __init__(self, heard: Heard, text: str) -> None:
        super().__init__(text)
        self.answer = Answer(heard=heard, text=line(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """Who a target of kind ``email`` writes to. ``password`` is looked up at each send, None without ``user``."""

    config: TargetConfig
    password: Callable[[], str] | None
    platform: ClassVar[str] = "email"
    provable: ClassVar[bool] = False

    def send(self, message: Message) -> Answer:
        talk = _Talk(self.config)
        try:
            sender, recipients = envelope(self.config)
            password = self._password()
            data = self._letter(message)
            with talk.deadline:
                return talk.hold(sender, recipients, data, password)
        except _Stopped as stopped:
            return stopped.answer
        except ssl.SSLCertVerificationError as error:
            return Answer(heard=Heard.FAILED, text=line(f"{talk.place}: TLS refused: {error.verify_message}"))
        except (OSError, smtplib.SMTPException) as error:
            return talk.broken(error)

    def _letter(self, message: Message) -> bytes:
        try:
            return letter(self.config, message)
        except ValueError as error:
            raise _Stopped(Heard.FAILED, f"no mail can be made of it: {error}") from error

    def _password(self) -> str | None:
        if self.config.user is None:
            return None
        if self.config.tls is Tls.NONE:
            raise _Stopped(Heard.FAILED, "refused: a login without TLS would show the password to everybody on the way")
        if self.password is None:
            raise _Stopped(Heard.FAILED, f'target "{self.config.name}" has a user and no password')
        return self.password()


def envelope(config: TargetConfig) -> tuple[str, tuple[str, ...]]:
    """The bare addresses: of the sender, of the recipients."""
    bare = [_bare(text) for text in (config.sender or "", *config.to)]
    wrong = next((text for text in bare if not _ADDRESS.fullmatch(text)), None)
    if wrong is not None or len(bare) < 2:
        raise _Stopped(Heard.FAILED, f"{wrong!r} is no mail address" if wrong else "no recipient")
    return bare[0], tuple(bare[1:])


def is_address(text: str) -> bool:
    """``ops@example.org`` or ``Ops <ops@example.org>``."""
    return text.isprintable() and _ADDRESS.fullmatch(_bare(text)) is not None


def _bare(text: str) -> str:
    found = _BARE.search(text)
    return (found[1] if found else text).strip()


def letter(config: TargetConfig, message: Message) -> bytes:
    """The mail as it goes over the wire: UTF-8, plain text, the same bytes at every try."""
    mail = EmailMessage(policy=SMTP.clone(max_line_length=998, cte_type="7bit"))
    mail["Subject"] = line(message.title, 200)
    mail["From"] = config.sender or ""
    mail["To"] = ", ".join(config.to)
    mail["Date"] = message.created_at
    mail["Message-ID"] = f"<{message.id}@{_bare(config.sender or '').rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Hermes-Cron-Id"] = message.id
    mail.set_content(message.body.encode("utf-8", "replace").decode("utf-8"), charset="utf-8", cte="quoted-printable")
    return mail.as_bytes()


class _Talk:
    """One conversation with a mail server."""

    def __init__(self, config: TargetConfig) -> None:
        self.deadline = Deadline(config.timeout_s)
        self._config = config
        self._port = config.port or _PORTS[config.tls]
        self.place = f"{config.host}:{self._port}"
        self._handed_over = False

    def hold(self, sender: str, recipients: tuple[str, ...], data: bytes, password: str | None) -> Answer:
        server = self._connected()
        try:
            self._secured(server)
            if password is not None:
                self._login(server, password)
            taken, refused = self._addressed(server, sender, recipients)
            said = self._handed(server, data)
        finally:
            server.close()
        if refused:
            # Trying again would send a second copy to those who have one.
            text = f"accepted for {', '.join(taken)}; refused: {'; '.join(refused)}"
            return Answer(heard=Heard.FAILED, text=line(text))
        return Answer(heard=Heard.SENT, text=line(said))

    def broken(self, error: Exception) -> Answer:
        """A fault on the way, by how far the conversation was."""
        # smtplib calls a silence of the server a closed connection, raised while the time-out was handled.
        if self.deadline.passed or isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
            text = f"{self.place}: no answer within {self._config.timeout_s:g} s"
        elif isinstance(error, OSError) and error.strerror:
            text = f"{self.place}: {error.strerror}"
        else:
            text = f"{self.place}: {error or type(error).__name__}"
        if self._handed_over:
            return Answer(heard=Heard.UNKNOWN, text=line(f"{text}; the mail was handed over whole"))
        return Answer(heard=Heard.LATER, text=line(text))

    def _connected(self) -> smtplib.SMTP:
        config = self._config
        try:
            server = _Server(
                (config.host or "", self._port), config.timeout_s, self.deadline, tls=config.tls is Tls.TLS
            )
        except smtplib.SMTPConnectError as error:
            said = error.smtp_error if isinstance(error.smtp_error, bytes) else error.smtp_error.encode()
            self._expect(error.smtp_code, said, (220,), "the connection")
            raise
        code, said = server.ehlo()
        self._expect(code, said, range(200, 300), "EHLO")
        return server

    def _secured(self, server: smtplib.SMTP) -> None:
        if self._config.tls is not Tls.STARTTLS:
            return
        if not server.has_extn("starttls"):
            raise _Stopped(Heard.FAILED, f"{self.place} offers no STARTTLS: nothing is sent in the clear")
        code, said = server.starttls(context=ssl.create_default_context())
        self._expect(code, said, (220,), "STARTTLS")
        if server.sock is not None:
            self.deadline.watch(server.sock)
        server.ehlo()

    def _login(self, server: smtplib.SMTP, password: str) -> None:
        try:
            server.login(self._config.user or "", password)
        except smtplib.SMTPAuthenticationError as error:
            later = 400 <= error.smtp_code < 500
            said = f"{self.place} refused the login: {error.smtp_code} {line(error.smtp_error)}"
            raise _Stopped(Heard.LATER if later else Heard.FAILED, said) from error
        except smtplib.SMTPNotSupportedError as error:
            raise _Stopped(Heard.FAILED, f"{self.place} offers no login") from error

    def _addressed(self, server: smtplib.SMTP, sender: str, recipients: tuple[str, ...]) -> tuple[list[str], list[str]]:
        code, said = server.mail(sender)
        self._expect(code, said, range(200, 300), f"the sender {sender}")
        taken: list[str] = []
        refused: list[str] = []
        codes: list[int] = []
        for address in recipients:
            code, said = server.rcpt(address)
            if 200 <= code < 300:
                taken.append(address)
            else:
                codes.append(code)
                refused.append(f"{address} ({code} {line(said, 120)})")
        if not taken:
            passing = any(400 <= code < 500 for code in codes)
            raise _Stopped(Heard.LATER if passing else Heard.FAILED, f"{self.place} refused {'; '.join(refused)}")
        return taken, refused

    def _handed(self, server: smtplib.SMTP, data: bytes) -> str:
        code, said = server.docmd("DATA")
        self._expect(code, said, (354,), "DATA")
        dotted = re.sub(rb"(?m)^\.", b"..", data)
        server.send(dotted + (b"" if dotted.endswith(b"\r\n") else b"\r\n") + b".\r\n")
        self._handed_over = True
        code, said = server.getreply()
        if not (200 <= code < 300 or 400 <= code < 600):
            raise _Stopped(Heard.UNKNOWN, f"{self.place} answered the whole mail with {code} {line(said)}")
        self._expect(code, said, range(200, 300), "the mail")
        with contextlib.suppress(OSError, smtplib.SMTPException):
            server.putcmd("quit")  # its answer would tell nothing
        return f"{code} {said.decode('utf-8', 'replace')}"

    def _expect(self, code: int, said: bytes, wanted: range | tuple[int, ...], what: str) -> None:
        if code in wanted:
            return
        heard = Heard.FAILED if 500 <= code < 600 else Heard.LATER
        raise _Stopped(heard, f"{self.place} answered {what} with {code} {line(said)}")


class _Bounded:
    """The server's side of a conversation. The library keeps every line of an answer, also of one without end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = ANSWER_BYTES

    def readline(self, size: int) -> bytes:
        said = self._file.readline(size)
        self._left -= len(said)
        if self._left < 0:
            raise OSError(f"more than {ANSWER_BYTES:,} bytes of answers")
        return said

    def close(self) -> None:
        self._file.close()


class _Server(smtplib.SMTP):
    """Tells the deadline of its socket as soon as there is one; reads a bounded number of bytes."""

    def __init__(self, place: tuple[str, int], timeout_s: float, deadline: Deadline, *, tls: bool) -> None:
        self._deadline = deadline
        self._tls = ssl.create_default_context() if tls else None
        # Our own name as it is: a full one may take a DNS time-out.
        super().__init__(*place, local_hostname=socket.gethostname(), timeout=timeout_s)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        return super().getreply()

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        sock = socket.create_connection((host, port), timeout)
        self._deadline.watch(sock)
        if self._tls is None:
            return sock
        secured = self._tls.wrap_socket(sock, server_hostname=host)
        self._deadline.watch(secured)
        return secured
