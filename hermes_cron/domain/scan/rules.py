"""Which words and commands attack an agent? A table: class, words that must be there, pattern, verdict by purpose.

Patterns are for folded text (lower case, no accents, no look-alikes). Each gap in them is bounded, and a command's
head and tail are searched one after the other in its line, so that the work grows with the text and no faster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from hermes_cron.domain.scan.finding import Kind, Purpose, Verdict

_ALLOW, _WARN, _BLOCK = Verdict.ALLOW, Verdict.WARN, Verdict.BLOCK


@dataclass(frozen=True, kw_only=True)
class Rule:
    """``anchors``: one of them stands in every text that matches, and one of ``also`` where it is given: finding a
    word costs a fiftieth of trying a pattern. ``levels``: the verdicts for memory, skill, context and prompt when the
    text means it."""

    kind: Kind
    anchors: tuple[str, ...]
    pattern: str
    also: tuple[str, ...] = ("",)
    levels: tuple[Verdict, Verdict, Verdict, Verdict] = (_BLOCK, _BLOCK, _BLOCK, _BLOCK)

    @cached_property
    def matcher(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def may_match(self, text: str) -> bool:
        return any(word in text for word in self.anchors) and any(word in text for word in self.also)

    def level(self, purpose: Purpose) -> Verdict:
        return dict(zip(Purpose, self.levels, strict=True))[purpose]


@dataclass(frozen=True, kw_only=True)
class Command(Rule):
    """``pattern`` is the command, ``tail`` what makes it one of these when it follows in the same command line."""

    tail: str = ""
    shell: bool = True

    @cached_property
    def tail_matcher(self) -> re.Pattern[str]:
        return re.compile(self.tail)


# --- words ------------------------------------------------------------------------------------------------------------

_IGNORING = (
    "ignor", "disregard", "forget", "overrid", "bypass", "discard", "overlook", "neglect", "abandon", "attention",
    "aside",
)  # fmt: skip
_NETWORK = (
    "curl", "wget", "nc ", "ncat", "netcat", "socat", "scp", "rsync", "ftp", "mail", "invoke-", "iwr", "irm",
)  # fmt: skip
_KEEPERS = (
    ".hermes/", ".hermes-cron/", ".ssh/", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".aws/", ".netrc", ".pgpass",
    ".git-credentials", ".kube/", ".docker/config", ".gnupg/", "gh/hosts.yml", ".pypirc", "wallet.dat", "/etc/shadow",
    "/etc/gshadow", "/environ",
)  # fmt: skip
"""Words of files that hold credentials."""
_G = r"[\W_]{1,8}"
_FILL = (
    r"(?:(?:all|any|every|each|the|of|your|my|our|these|those|that|this|other|such|and|or|previous|previously"
    r"|prior|above"
    r"|earlier|preceding|former|past|system|safety|security|developer|original|initial|existing|given|current|default"
    r"|foregoing)" + _G + r"){0,7}"
)
_BEFORE_THIS = (
    r"(?:previous|previously|prior|above|earlier|preceding|former|past|system|safety|developer|original|initial"
    r"|foregoing)"
)
_IGNORE = (
    r"(?<![a-z])(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|discard(?:ing)?"
    r"|overlook|neglect|abandon|pay" + _G + r"no" + _G + r"attention" + _G + r"to|set" + _G + r"aside)" + _G
)
_ORDERS = r"(?:instructions?|prompts?|directions|directives?|guidelines|guardrails|guidance)(?![a-z])"
_RULES = r"(?:rules|constraints|restrictions|policies|safeguards|commands|orders|training|programming)\b"
_CLAUSE_ENDS = r"(?=[^\S\n]{0,4}(?:[.,;:!?)\"'”’—\n-]|$|and\b|then\b))"
_PEOPLE = (
    r"(?:the|your|this|any)?[\W_]{0,3}"
    r"(?:users?|owners?|operators?|humans?|people|person|admins?|administrators?|anyone|anybody|developers?)\b"
)
_NOT_TO = r"\b(?:do" + _G + r"not|don['’]?t|never|must" + _G + r"not|should" + _G + r"not)" + _G

WORDS: tuple[Rule, ...] = (
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("instruction", "prompt", "direct", "guid", "guardrail"),
        also=_IGNORING,
        pattern=_IGNORE
        + rf"(?=(?:[a-z]+{_G}){{0,7}}?(?:{_BEFORE_THIS}|your|my|all|any|every|these|those)(?![a-z]))"
        + _FILL
        + _ORDERS,
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=(
            "rules",
            "constraints",
            "restrictions",
            "policies",
            "safeguards",
            "commands",
            "orders",
            "training",
            "programming",
        ),
        also=_IGNORING,
        pattern=_IGNORE
        + rf"(?=(?:[a-z]+{_G}){{0,5}}?(?:{_BEFORE_THIS}|your)\b)"
        + _FILL
        + _RULES
        + r"(?!"
        + _G
        + r"(?:in|from|for|on|of)\b)",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("above", "before", "told", "said", "know"),
        also=("ignore", "disregard", "forget"),
        pattern=r"\b(?:ignore|disregard|forget)" + _G + r"(?:all" + _G + r"|absolutely" + _G + r")?"
        r"(?:(?:everything|anything|all|what|whatever|the)" + _G + r"(?:that" + _G + r")?"
        r"(?:above|before(?:"
        + _G
        + r"this)?|(?:you|we|i)"
        + _G
        + r"(?:were|was|have"
        + _G
        + r"been|had"
        + _G
        + r"been)"
        + _G
        + r"told|(?:i|we|they)"
        + _G
        + r"(?:have"
        + _G
        + r")?(?:said|told"
        + _G
        + r"you)|you"
        + _G
        + r"know))"
        + _CLAUSE_ENDS,
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("system",),
        also=("overrid", "overwrite", "replace", "bypass", "new"),
        pattern=r"\bsystem" + _G + r"prompts?" + _G + r"(?:override|overridden|bypass|replacement)\b"
        r"|\b(?:override|overwrite|replace|bypass)"
        + _G
        + r"(?:(?:the|your|this|current)"
        + _G
        + r"){0,2}system"
        + _G
        + r"prompt\b|\bnew"
        + _G
        + r"system"
        + _G
        + r"prompt[^\S\n]{0,3}:"
        r"|\bsystem" + _G + r"override\b(?=[^\S\n]{0,3}[:!.])",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("system prompt", "system instruction", "hidden prompt", "initial prompt", "system-prompt"),
        pattern=r"\b(?:reveal|print|show|repeat|output|leak|disclose|expose|display|recite)"
        + _G
        + r"(?:(?:me|us|the|your|full|entire|whole|exact|complete|contents?|text|of)"
        + _G
        + r"){0,5}(?:system|hidden|initial)"
        + _G
        + r"(?:prompt|instructions?)\b",
        levels=(_BLOCK, _WARN, _BLOCK, _BLOCK),
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("<|", "[/inst]", "<<sys>>", "</system>", "[inst]"),
        pattern=r"<\|(?:im_start|im_end|system|assistant|endoftext|start_header_id)\|?>?|<<sys>>|\[/?inst\]"
        r"|</system>",
        levels=(_BLOCK, _WARN, _BLOCK, _BLOCK),
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("you are", "you're", "pretend", "act as", "jailbreak", "do anything now", "behave"),
        pattern=r"\byou(?:['’]re|"
        + _G
        + r"are)"
        + _G
        + r"(?:now"
        + _G
        + r")?(?:no"
        + _G
        + r"longer"
        + _G
        + r"(?:bound|restricted|limited|an?"
        + _G
        + r"(?:ai|assistant|language"
        + _G
        + r"model))|free"
        + _G
        + r"(?:from|of)"
        + _G
        + r"(?:all"
        + _G
        + r"|any"
        + _G
        + r"|your"
        + _G
        + r")?(?:rules|restrictions|limits|constraints|guidelines)"
        r"|(?:in" + _G + r")?(?:developer" + _G + r"mode|jailbroken|dan\b|unrestricted|unfiltered)"
        r"|an?" + _G + r"(?:unrestricted|unfiltered|jailbroken))"
        r"|\b(?:pretend|act"
        + _G
        + r"as|behave)[^.\n]{0,30}\bno"
        + _G
        + r"(?:restrictions|rules|limits|guidelines|filters)\b"
        r"|\bdo" + _G + r"anything" + _G + r"now\b|\bjailbreak" + _G + r"mode\b",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("from now on", "henceforth"),
        pattern=r"\b(?:from"
        + _G
        + r"now"
        + _G
        + r"on|henceforth)"
        + _G
        + r"(?:you"
        + _G
        + r"(?:must|will|shall|should)"
        + _G
        + r")?(?:only"
        + _G
        + r")?(?:obey|answer"
        + _G
        + r"only"
        + _G
        + r"to|take"
        + _G
        + r"orders|comply|ignore|disregard"
        r"|follow" + _G + r"only|you" + _G + r"are" + _G + r"(?:not|no))\b",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        also=("not", "don", "never", "stop", "longer", "cease"),
        anchors=("follow", "obey", "adhere", "comply", "listen"),
        pattern=r"\b(?:do"
        + _G
        + r"not|don['’]?t|never|stop|no"
        + _G
        + r"longer|cease)"
        + _G
        + r"(?:follow(?:ing)?|obey(?:ing)?|adher(?:e|ing)"
        + _G
        + r"to|comply(?:ing)?"
        + _G
        + r"with|listen(?:ing)?"
        + _G
        + rf"to){_G}(?=(?:[a-z]+{_G}){{0,5}}?(?:{_BEFORE_THIS}|your)\b){_FILL}(?:{_ORDERS}|{_RULES})",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("approve", "approval", "safety", "guard", "security"),
        also=("always", "auto", "disable", "turn", "bypass", "skip"),
        pattern=r"\b(?:always|auto(?:matically)?)" + _G + r"approve" + _G + r"(?:all|every|any|everything)\b"
        r"|\b(?:disable|turn"
        + _G
        + r"off|bypass|skip)"
        + _G
        + r"(?:(?:all|the|your|any|every)"
        + _G
        + r"){0,2}(?:safety|security"
        + _G
        + r"(?:scanner|checks?|guards?)|guardrails?|approval"
        + _G
        + r"(?:gate|checks?|prompts?))\b",
        levels=(_BLOCK, _WARN, _WARN, _WARN),
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("instructions", "rules"),
        pattern=r"\b(?:new|updated|real|true|actual)"
        + _G
        + r"(?:system"
        + _G
        + r")?instructions"
        + _G
        + r"(?:follow|supersede|replace)\b|\bthese"
        + _G
        + r"(?:instructions|rules)"
        + _G
        + r"(?:supersede|override|replace)"
        + _G
        + r"(?:all|any|your|every)\b",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=(
            "忽略",
            "无视",
            "無視",
            "忘记",
            "忘掉",
            "忘記",
            "理会",
            "抛弃",
            "不用管",
            "绕过",
            "遵守",
            "遵循",
            "服从",
        ),
        pattern=r"(?:忽略|无视|無視|忘记|忘掉|忘記|不要理会|不理会|别理会|抛弃|不用管|绕过|(?:不要|别|不再|停止|无需)(?:再)?(?:遵守|遵循|服从))"
        r"(?:掉|你|您|所有|全部|一切|的|任何|了|\s){0,6}"
        r"(?:之前|以前|上面|上述|先前|此前|前面|以上|原有|原来|原先|系统|既有|開發者|开发者|你的|您的|所有)"
        r"(?:所有|全部|一切|的|任何|给你|你|收到|\s){0,6}(?:指令|指示|提示词|系统提示|规则|規則|命令|指引|设定|约束|限制)",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("无视して", "無視", "忘れ"),
        pattern=r"(?:以前|これまで|上記|前|すへて|すべて)の(?:指示|命令|ルール|フロンフト|プロンプト)(?:を|は)?(?:すへて|すべて|全て)?(?:無視|忘れ)",
    ),
    Rule(
        kind=Kind.INSTRUCTION_OVERRIDE,
        anchors=("instruc", "anweisung", "consignes"),
        pattern=r"\bignor[ae](?:z|r)?" + _G + r"(?:(?:todas?|toutes?|as|las|les|tus|vos|suas|tes)" + _G + r"){0,3}"
        r"(?:(?:instrucciones|instructions|instrucoes|consignes)"
        + _G
        + r"(?:anteriores|previas|precedentes|anterieures))\b"
        r"|\b(?:ignorier(?:e|en)|vergiss)"
        + _G
        + r"(?:(?:alle|die|deine|bisherigen|vorherigen|vorigen|sie)"
        + _G
        + r"){0,4}anweisungen\b",
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("tell", "mention", "reveal", "let "),
        pattern=_NOT_TO
        + r"(?:ever"
        + _G
        + r")?(?:tell"
        + _G
        + _PEOPLE
        + r"(?:"
        + _CLAUSE_ENDS
        + r"|"
        + _G
        + r"(?:about|of)"
        + _G
        + r"(?:this|it|that|these|what)\b|"
        + _G
        + r"that"
        + _G
        + r"(?:you|this|it|we|i)\b)"
        r"|(?:mention|reveal|disclose)"
        + _G
        + r"(?:this|it|that|these)(?:"
        + _G
        + r"[a-z]+){0,3}?"
        + _G
        + r"to"
        + _G
        + _PEOPLE
        + r"|let"
        + _G
        + _PEOPLE
        + _G
        + r"(?:know|see|notice|find"
        + _G
        + r"out)\b)",
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("notify", "inform", "alert"),
        pattern=_NOT_TO
        + r"(?:inform|notify|alert|warn)"
        + _G
        + _PEOPLE
        + r"(?:"
        + _CLAUSE_ENDS
        + r"|"
        + _G
        + r"(?:about|of)"
        + _G
        + r"(?:this|it|that|these)\b)",
        levels=(_BLOCK, _WARN, _WARN, _WARN),
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("hide", "conceal", "keep"),
        also=("from",),
        pattern=r"\b(?:hide|conceal)"
        + _G
        + r"(?:this|it|that|these|your"
        + _G
        + r"(?:actions|tracks|work|changes))(?:"
        + _G
        + r"(?:fact|change|action|instruction|message|step|request|email|rule)s?)?"
        + _G
        + r"from"
        + _G
        + _PEOPLE
        + r"|\bkeep"
        + _G
        + r"(?:this|it|that|these)"
        + _G
        + r"(?:a"
        + _G
        + r")?(?:secret|hidden)"
        + _G
        + r"from"
        + _G
        + _PEOPLE,
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("without",),
        pattern=r"\bwithout"
        + _G
        + r"(?:telling|informing|notifying|alerting)"
        + _G
        + _PEOPLE
        + r"|\bwithout"
        + _G
        + _PEOPLE
        + r"['’]?s?"
        + _G
        + r"(?:knowing|knowledge|noticing|consent|awareness)\b",
        levels=(_BLOCK, _WARN, _WARN, _WARN),
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("secretly", "covertly", "silently", "quietly", "tracks", "nothing happened", "as if nothing"),
        pattern=r"\b(?:secretly|covertly)"
        + _G
        + r"(?:send|copy|upload|forward|add|install|transmit|post|email|run|write)\b"
        r"|\b(?:silently|quietly)" + _G + r"(?:send|upload|forward|exfiltrate|transmit|email|leak)\b"
        r"|\bcover" + _G + r"(?:your|our|all|the)" + _G + r"tracks\b"
        r"|\b(?:respond|reply|act|behave|continue|pretend)"
        + _G
        + r"(?:as"
        + _G
        + r"(?:if|though)|like)"
        + _G
        + r"nothing"
        + _G
        + r"(?:has"
        + _G
        + r")?happened\b",
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("用户", "任何人", "管理员", "主人", "用戶"),
        pattern=r"(?:不要|别|不得|切勿|不许|请勿|不能|禁止)(?:把[^。，\n]{1,12})?(?:告诉|告知|告訴|让|透露给)(?:用户|用戶|任何人|管理员|主人)"
        r"|对(?:用户|任何人|管理员|主人)隐瞒|瞒着(?:用户|任何人|管理员|主人|所有人)|(?:不让|别让)(?:用户|任何人|管理员|主人)(?:知道|发现|看到)",
    ),
    Rule(
        kind=Kind.CONCEALMENT,
        anchors=("偷偷", "悄悄", "暗中"),
        pattern=r"(?:偷偷|悄悄|暗中)地?(?:把[^。，\n]{1,16})?(?:发送|上传|复制|转发|安装|发给|写入|执行)",
    ),
)

_SECRETS = (
    r"(?:api|access|secret|private|ssh|encryption)?[\W_]{0,2}keys?|passwords?|passphrases?|credentials?|secrets?"
    r"|(?:access|auth|bearer|session|api)?[\W_]{0,2}tokens?|session" + _G + r"cookies?"
    r"|environment" + _G + r"variables?"
    r"|env" + _G + r"(?:vars?|file)|\S{0,60}\.env\b|\S{0,60}id_(?:rsa|ed25519|ecdsa)\b"
)
_DESTINATION = (
    r"(?:https?://|(?:me|us|him)\b|(?:an?|the|this|my|our|attacker['’]?s?)"
    + _G
    + r"(?:(?:external|remote|following|public|"
    r"attacker['’]?s?|webhook|new)"
    + _G
    + r"){0,3}(?:server|url|site|host|webhook|address|endpoint|domain|attacker|pastebin)\b"
    r"|[\w.+-]{1,64}@[\w-]{1,63}\.|pastebin|webhook|[a-z0-9-]{1,63}\.(?:com|net|org|io|test|example|ru|cn|xyz"
    r"|site|top)\b)"
)
_SEND = (
    r"\b(?:send|post|upload|e-?mail|forward|transmit|exfiltrat(?:e|ing)|leak|ship|submit|sending|posting|uploading)"
    + _G
)

WORDS += (
    Rule(
        kind=Kind.EXFILTRATION,
        anchors=("key", "password", "passphrase", "credential", "secret", "token", "cookie", "env", "id_"),
        also=("send", "post", "upload", "mail", "forward", "transmit", "exfiltrat", "leak", "ship", "submit"),
        pattern=_SEND
        + r"(?:(?:me|us|the|all|any|every|each|your|my|our|their|its|of|contents?|values?|copy|a|stored|saved"
        r"|found|full|file"
        r"|user['’]?s|database|in|from)" + _G + r"){0,6}(?:~/|\./|/)?(?:" + _SECRETS + r")"
        r"(?:" + _G + r"(?:file|files|contents?|values?|and|or|you|find|found|in|from|of|the|there|them|it"
        r"|stored|saved"
        r"|passwords?|tokens?|keys?|secrets?|~?/\S{1,80}|\S{0,40}\.env)){0,6}?"
        + _G
        + r"(?:to|at|via|into|over"
        + _G
        + r"to)"
        + _G
        + _DESTINATION,
    ),
    Rule(
        kind=Kind.EXFILTRATION,
        anchors=("![",),
        pattern=r"!\[[^\]\n]{0,80}\]\(\s?https?://[^)\s]{1,200}[?&][^)\s=]{1,40}=(?:\$\{?|\{\{?|%7b|<)[^)\n]{0,60}"
        r"(?:secret|key|token|password|conversation|history|data|context)",
        levels=(_BLOCK, _WARN, _BLOCK, _WARN),
    ),
    Rule(
        kind=Kind.EXFILTRATION,
        anchors=("密钥", "密码", "口令", "令牌", "凭证", "私钥", "环境变量", ".env"),
        pattern=r"(?:把|将)[^。；，\n]{0,16}(?:密钥|密码|口令|令牌|凭证|凭据|私钥|环境变量|\.env)[^。；，\n]{0,10}"
        r"(?:发送|上传|发给|发到|提交|转发|泄露|传给|传到|外传)[^。；，\n]{0,4}(?:到|给|至)?\s?(?:https?://|我|外部|远程|第三方|[\w.+-]{1,64}@"
        r"|[a-z0-9-]{1,63}\.)",
    ),
    Rule(
        kind=Kind.CREDENTIAL_ACCESS,
        anchors=("steal", "harvest", "exfiltrate"),
        pattern=r"\b(?:steal|harvest|exfiltrate)"
        + _G
        + r"(?:(?:all|the|your|any|every|their|users?['’]?s?|stored|saved)"
        + _G
        + r"){0,4}(?:api"
        + _G
        + r"keys?|passwords?|credentials|secrets|private"
        + _G
        + r"keys?|(?:access"
        + _G
        + r")?tokens)\b",
    ),
    Rule(
        kind=Kind.CREDENTIAL_ACCESS,
        anchors=("reveal", "leak", "disclose", "dump"),
        pattern=r"\b(?:reveal|leak|disclose|dump)"
        + _G
        + r"(?:(?:all|the|your|any|every|stored|saved)"
        + _G
        + r"){0,4}(?:api"
        + _G
        + r"keys?|passwords?|credentials|secrets|private"
        + _G
        + r"keys?|access"
        + _G
        + r"tokens?)\b",
        levels=(_WARN, _WARN, _WARN, _WARN),
    ),
)

# --- commands ---------------------------------------------------------------------------------------------------------

_PATH = r"[^\s\"'`|;<>()]{0,120}"
_STRONG = (
    r"(?:"
    + _PATH
    + r"(?:\.hermes(?:-cron)?/(?:\.env|vault[\w.]{0,12}|auth\.json)|\.ssh/(?:id_[a-z0-9]{1,12}|identity)\b(?!\.pub)"
    r"|id_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)|\.aws/credentials|\.netrc|\.pgpass|\.git-credentials|\.kube/config"
    r"|\.docker/config\.json|\.gnupg/\S{1,40}|\.config/gh/hosts\.yml|\.pypirc|wallet\.dat)|/etc/shadow|/etc/gshadow"
    r"|/proc/(?:self|\d{1,8}|\*)/environ)"
)
_ENV_FILE = r"(?<![\w`*|\\])(?:[~.\w$/{}-]{0,120}/)?\.env(?![\w.|])"
_READ = r"\b(?:cat|less|more|head|tail|bat|strings|xxd|od|base64|nl|get-content|gc|type|vim?|nano|cp|awk|grep|sed)\s"
_NET = (
    r"\b(?:curl|wget|nc|ncat|netcat|socat|scp|rsync|ftp|tftp|sendmail|mailx?|invoke-webrequest|invoke-restmethod"
    r"|iwr|irm)\b"
)
_VARIABLE = (
    r"(?:\$\{?|\$env:|%|\$\{\{\s?(?:secrets|env)\.)(?:[a-z0-9]{1,40}_){0,6}(?:[a-z0-9]{0,20}key|token|secret"
    r"|passw(?:or)?d|passwd"
    r"|credentials?|passphrase)s?(?:_[a-z0-9]{1,40}){0,4}\b"
)
_NAMES_OF_SECRETS = ("key", "token", "secret", "passw", "credential", "passphrase")
_INSTRUCTION_FILES = (
    r"(?:agents\.md|claude\.md|gemini\.md|soul\.md|\.hermes\.md|memory\.md|user\.md|\.cursorrules"
    r"|copilot-instructions\.md"
    r"|skill\.md|\.windsurfrules)"
)
_WRITE = (
    r"\b(?:echo|printf|cat|tee|sed|awk|curl|wget|cp|mv|dd|base64|python3?|perl|add-content|set-content"
    r"|out-file)\b"
)

COMMANDS: tuple[Command, ...] = (
    Command(
        kind=Kind.EXFILTRATION,
        anchors=_NETWORK,
        also=_NAMES_OF_SECRETS,
        pattern=_NET,
        tail=r"(?:-d|--data\S{0,12}|-F|-f|--form|--post-data\S{0,6}|--json)[\s=]\s?[^\n]{0,160}?" + _VARIABLE
        + r"|https?://(?!localhost|127\.|\[::1)[^\s\"'$]{1,120}[?&/=][^\s\"']{0,120}?" + _VARIABLE,
    ),
    Command(
        kind=Kind.EXFILTRATION,
        anchors=_NETWORK,
        also=_NAMES_OF_SECRETS,
        pattern=_NET,
        tail=_VARIABLE,
        levels=(_BLOCK, _ALLOW, _ALLOW, _WARN),
    ),
    Command(
        kind=Kind.EXFILTRATION,
        anchors=_NETWORK,
        also=(*_KEEPERS, ".env"),
        pattern=_NET,
        tail=r"(?<!-i )(?<!-i)(?<!--key )(?<!--cert )(?<!--netrc-file )(?<![\w.~/-])@?(?:" + _STRONG + r""
        r"|" + _ENV_FILE + r")",
    ),
    Command(
        kind=Kind.EXFILTRATION,
        anchors=(*_KEEPERS, ".env"),
        also=_NETWORK,
        pattern=_READ + r"[^\n|]{0,160}?(?:" + _STRONG + r"|" + _ENV_FILE + r")",
        tail=r"\|[^\n]{0,200}?" + _NET,
    ),
    Command(
        kind=Kind.EXFILTRATION,
        anchors=("env", "export -p", "set "),
        also=_NETWORK,
        pattern=r"(?<![\w./-])(?:printenv|env|export -p|set)\b[^\n|;&]{0,60}(?=\|)",
        tail=_NET,
    ),
    Command(
        kind=Kind.CREDENTIAL_ACCESS,
        anchors=_KEEPERS,
        pattern=_READ,
        tail=_STRONG,
    ),
    Command(
        kind=Kind.CREDENTIAL_ACCESS,
        anchors=_KEEPERS,
        pattern=r"\b(?:read|open|show|print|display|dump|output|reveal|copy|extract|collect|include|list"
        r"|give" + _G + r"me)"
        r"\b[\s\"'`]{1,3}(?:(?:me|us|the|its|full|all|entire|whole|files?|contents?|values?|of|in|from|at|your"
        r"|out|what|is|text)"
        r"[\s\"'`]{1,3}){0,7}(?=[~/.\w$])",
        tail=_STRONG,
        levels=(_BLOCK, _WARN, _BLOCK, _BLOCK),
        shell=False,
    ),
    Command(
        kind=Kind.CREDENTIAL_ACCESS,
        anchors=(".env",),
        pattern=r"\b(?:read|open|show|print|display|dump|output|reveal|cat)"
        r"\b[\s\"'`]{1,3}(?:(?:me|us|the|its|full|all|entire|whole|files?|contents?|values?|of|in|from|at|your|out)"
        r"[\s\"'`]{1,3}){0,7}(?=[~/.\w$])",
        tail=_ENV_FILE,
        levels=(_WARN, _ALLOW, _ALLOW, _WARN),
        shell=False,
    ),
    Command(
        kind=Kind.CREDENTIAL_ACCESS,
        anchors=_KEEPERS,
        pattern=r"(?:读取|查看|打印|输出|显示|展示|读出|复制)[^。；，\n]{0,12}(?=[~/.\w$])",
        tail=_STRONG,
        levels=(_BLOCK, _WARN, _BLOCK, _BLOCK),
        shell=False,
    ),
    Command(
        kind=Kind.PERSISTENCE,
        anchors=("agents.md", "claude.md", "gemini.md", "soul.md", ".hermes.md", "memory.md", "user.md", ".cursorrules",
                 "copilot-instructions.md", "skill.md", ".windsurfrules"),
        pattern=_WRITE,
        tail=r">>\s?[\"']?" + _PATH + _INSTRUCTION_FILES + r"|(?:>|\btee\b(?:\s-a)?)\s?[\"']?(?:~|\$home|/)" + _PATH
        + _INSTRUCTION_FILES + r"|\btee\s+-a\s+[\"']?" + _PATH + _INSTRUCTION_FILES + r""
        r"|\s-i\b[^\n]{0,120}?\s[\"']?(?:~|\$home|/)"
        + _PATH + _INSTRUCTION_FILES,
    ),
    Command(
        kind=Kind.PERSISTENCE,
        anchors=("authorized_keys", "/etc/cron", "crontab", "/etc/rc", "ld.so.preload", "/etc/sudoers", "launchagents",
                 "autostart"),
        pattern=_WRITE,
        tail=r"(?:>>?|\btee\b(?:\s-a)?)\s?[\"']?" + _PATH
        + r"(?:authorized_keys|/etc/cron[\w./-]{0,40}|/etc/rc\.local|ld\.so\.preload|/etc/sudoers[\w./-]{0,40}"
        r"|launchagents/\S{1,60}|autostart/\S{1,60})",
    ),
    Command(
        kind=Kind.PERSISTENCE,
        anchors=("crontab",),
        pattern=_WRITE,
        tail=r"\|\s?crontab\s+-(?:\s|$|[)\"'`])",
        levels=(_BLOCK, _WARN, _WARN, _WARN),
    ),
    Command(
        kind=Kind.PERSISTENCE,
        anchors=("bashrc", "zshrc", "profile"),
        also=("curl", "wget", "base64", "nc", "bash -i", "/dev/tcp"),
        pattern=r"\b(?:echo|printf|cat|tee)\b",
        tail=r"(?:curl|wget|base64|nc|bash -i|/dev/tcp)\b[^\n]{0,120}?>>\s?[\"']?" + _PATH + r"\.(?:bashrc"
        r"|zshrc|profile|bash_profile|zprofile)",
    ),
    Command(
        kind=Kind.CONCEALMENT,
        anchors=("history -c", "histfile", "histsize"),
        pattern=r"\bhistory -c\b|\bunset histfile\b|\bhistfile=/dev/null|\bhistsize=0\b",
        levels=(_BLOCK, _WARN, _WARN, _WARN),
    ),
    Command(
        kind=Kind.ENCODED_PAYLOAD,
        anchors=("base64", "b64decode", "frombase64", "xxd -r", "openssl"),
        pattern=r"\bbase64\s+(?:-d|--decode|-di|-id)\b|\bxxd\s+-r\b|\bopenssl\s+(?:enc\s+)?(?:-)?base64\s+-d\b",
        tail=r"\|\s?(?:sudo\s+)?(?:ba|z|da|k)?sh\b|\|\s?(?:sudo\s+)?(?:python3?|perl|ruby|node|iex)\b",
    ),
    Command(
        kind=Kind.ENCODED_PAYLOAD,
        anchors=("b64decode", "frombase64", "atob", "base64"),
        pattern=r"\b(?:exec|eval|iex|invoke-expression|os\.system)\b",
        tail=r"b64decode|frombase64string|\batob\(|base64\s+(?:-d|--decode)\b",
    ),
    Command(
        kind=Kind.ENCODED_PAYLOAD,
        anchors=("powershell", "pwsh"),
        pattern=r"\b(?:powershell|pwsh)(?:\.exe)?\b",
        tail=r"\s-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{16,}",
    ),
)  # fmt: skip
