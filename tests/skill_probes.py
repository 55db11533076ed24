"""What does a library of a thousand skills look like, and how do people ask for the one they need?

Written before the ranking and by somebody who had not read it: the probes are prompts as people type them into
a job, with the words of their trouble, not with the name of the skill. Deterministic: the same thousand each time.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent


@dataclass(frozen=True)
class Skill:
    category: str
    name: str
    description: str


@dataclass(frozen=True)
class Probe:
    prompt: str
    skill: str


@dataclass(frozen=True)
class Shelf:
    """One category: what its skills are about (slug, name, something of its own), and what they do with it."""

    category: str
    about: tuple[tuple[str, str, str], ...]
    does: tuple[tuple[str, str], ...]

    def skills(self) -> list[Skill]:
        return [
            Skill(self.category, f"{slug}-{task}", words.format(it=label, own=own))
            for slug, label, own in self.about
            for task, words in self.does
        ]


@cache
def skills() -> tuple[Skill, ...]:
    return tuple(skill for shelf in SHELVES for skill in shelf.skills())


def write_library(root: Path) -> None:
    """The thousand as files under `root`, as a home keeps them."""
    for skill in skills():
        folder = root / skill.category / skill.name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text_of(skill), encoding="utf-8")


def text_of(skill: Skill) -> str:
    title = skill.name.replace("-", " ").capitalize()
    return dedent("""\
        ---
        name: {name}
        description: "{description}"
        metadata:
          version: "1.0"
        ---

        # {title}

        ## When to use

        {description}

        ## Steps

        1. Look before anything is changed, and keep what was seen.
        2. Do one thing, look again, and compare.

        ## Pitfalls

        - A figure without its time says nothing.
        """).format(name=skill.name, description=skill.description, title=title)


SHELVES = (
    Shelf(
        "databases",
        (
            ("postgres", "PostgreSQL", "pg_stat_statements"),
            ("mysql", "MySQL", "the slow query log and performance_schema"),
            ("mariadb", "MariaDB", "the userstat tables"),
            ("sqlserver", "SQL Server", "Query Store"),
            ("oracle", "Oracle Database", "AWR reports"),
            ("clickhouse", "ClickHouse", "system.query_log"),
            ("mongodb", "MongoDB", "the profiler collection"),
            ("redis", "Redis", "SLOWLOG and MEMORY DOCTOR"),
        ),
        (
            (
                "slow-queries",
                "Finds the statements that cost {it} most time, with {own}, and says why each is slow and what "
                "would make it faster. Use when the database is sluggish or an application times out. 慢查询诊断。",
            ),
            (
                "restore-drill",
                "Restores the newest {it} backup into a scratch instance, counts rows and compares them with the "
                "live one. Use to prove that a backup can really be used.",
            ),
            (
                "growth-forecast",
                "Measures the size of each {it} table or collection, compares it with the last run, and "
                "forecasts when the disk is full.",
            ),
            (
                "connection-pool",
                "Looks at open {it} sessions, idle transactions and the connection limit, and names the client "
                "that leaks them. Use for 'too many connections' errors.",
            ),
            (
                "replica-lag",
                "检查 {it} 主从复制延迟：每个副本落后多少秒、原因是什么、是否需要人工处理。Checks how far each "
                "replica is behind.",
            ),
        ),
    ),
    Shelf(
        "kubernetes",
        (
            ("kube-deployment", "Deployments and their rollouts", "kubectl rollout status"),
            ("kube-node", "nodes", "kubectl describe node"),
            ("kube-ingress", "Ingress and Gateway routes", "the controller's log"),
            ("kube-volume", "PersistentVolumeClaims", "the storage class and the CSI driver"),
            ("kube-cronjob", "CronJobs and Jobs", "the last successful time"),
            ("helm-release", "Helm releases", "helm history"),
            ("kube-secret", "Secrets and ConfigMaps", "the pods that mount them"),
            ("kube-autoscaler", "HorizontalPodAutoscalers", "metrics-server"),
        ),
        (
            (
                "triage",
                "Finds out why {it} in a Kubernetes cluster are not healthy (CrashLoopBackOff, Pending, "
                "ImagePullBackOff, events), with {own}, and proposes the smallest fix.",
            ),
            (
                "capacity",
                "Compares requests, limits and real use of {it} over a week, and says what is over- or undersized.",
            ),
            (
                "cleanup",
                "Lists {it} nobody uses any more, with their owner and age, and removes them after approval. "
                "Finished, orphaned or forgotten objects.",
            ),
            (
                "upgrade-check",
                "Before a cluster upgrade: which {it} use removed API versions or deprecated fields, by manifest "
                "and line.",
            ),
            ("audit", "审计集群中的 {it}：权限、标签、资源限制和安全基线，列出不合规的对象。"),
        ),
    ),
    Shelf(
        "containers",
        (
            ("docker", "Docker", "docker system df"),
            ("podman", "Podman", "podman inspect and its quadlets"),
            ("compose", "Docker Compose projects", "docker compose config"),
            ("harbor", "the Harbor registry", "its project quotas"),
            ("ghcr", "the GitHub container registry", "the packages API"),
            ("buildkit", "BuildKit builders", "the cache export"),
            ("lxc", "LXC and Incus containers", "lxc info"),
            ("swarm", "Docker Swarm services", "docker service ps"),
        ),
        (
            (
                "deploy",
                "Deploys an application with {it}: builds, starts, waits for the health check and rolls back "
                "when it does not come up. Checks with {own}.",
            ),
            (
                "image-prune",
                "Frees the space that old images, layers and stopped containers of {it} take; keeps what runs "
                "and the last three tags.",
            ),
            (
                "vulnerability-scan",
                "Scans what {it} runs for known CVEs with trivy, groups them by fixable or not, and compares "
                "with last week.",
            ),
            (
                "restart-loop",
                "Explains why a container of {it} restarts again and again: exit code, out of memory, failed "
                "health check, missing variable.",
            ),
            ("log-digest", "汇总 {it} 的容器日志：按错误类型分组，给出次数、首次和最近一次出现的时间。"),
        ),
    ),
    Shelf(
        "web-servers",
        (
            ("nginx", "nginx", "nginx -T"),
            ("apache", "Apache httpd", "apachectl -S"),
            ("caddy", "Caddy", "its admin API"),
            ("haproxy", "HAProxy", "the stats socket"),
            ("traefik", "Traefik", "the dashboard's API"),
            ("iis", "IIS", "appcmd"),
            ("envoy", "Envoy", "/config_dump"),
            ("varnish", "Varnish", "varnishstat"),
        ),
        (
            (
                "access-report",
                "Summarises a day of {it} access logs: visitors, top pages, status codes, slowest paths, bots "
                "and odd clients. 访问日志日报。",
            ),
            (
                "certificates",
                "Says in how many days each TLS certificate served by {it} expires, whether renewal works and "
                "which names are missing. HTTPS 证书到期检查。",
            ),
            (
                "config-review",
                "Reads the configuration of {it} with {own} and reports mistakes: open redirects, missing "
                "time-outs, weak ciphers, unreachable blocks.",
            ),
            (
                "error-spike",
                "Explains a sudden rise of 5xx or 502 answers from {it}: which upstream, since when, which "
                "deployment or client goes with it.",
            ),
            (
                "rate-limits",
                "Finds clients that hammer {it}, proposes rate limits from a week of traffic and shows whom they "
                "would hit.",
            ),
        ),
    ),
    Shelf(
        "linux-hosts",
        (
            ("ubuntu", "Ubuntu", "apt and snap"),
            ("debian", "Debian", "apt and needrestart"),
            ("rhel", "Red Hat Enterprise Linux", "dnf and subscription-manager"),
            ("rocky", "Rocky Linux", "dnf"),
            ("suse", "SUSE Linux", "zypper"),
            ("alpine", "Alpine Linux", "apk and OpenRC"),
            ("openeuler", "openEuler", "dnf"),
            ("raspberry", "Raspberry Pi OS", "vcgencmd"),
        ),
        (
            (
                "disk-full",
                "Finds what fills the disk of a {it} machine (logs, caches, deleted but open files, core dumps) "
                "and frees space step by step, asking before it removes.",
            ),
            (
                "patching",
                "Installs pending security updates on {it} with {own}, says whether a reboot is needed, and "
                "checks services afterwards.",
            ),
            (
                "user-accounts",
                "Lists who can log in to {it}, with sudo rights, keys and last login; names accounts of people "
                "who left.",
            ),
            (
                "out-of-memory",
                "Reads the kernel log of {it} for processes that were killed for lack of RAM, and says which one "
                "eats it and since when.",
            ),
            ("baseline", "按安全基线检查 {it} 主机：SSH、防火墙、口令策略、开放端口、开机启动项，给出整改清单。"),
        ),
    ),
    Shelf(
        "backups",
        (
            ("restic", "restic", "restic check --read-data-subset"),
            ("borg", "BorgBackup", "borg check"),
            ("rsync", "rsync mirrors", "--dry-run --checksum"),
            ("veeam", "Veeam", "its REST API"),
            ("duplicity", "duplicity", "collection-status"),
            ("rclone", "rclone remotes", "rclone cryptcheck"),
            ("zfs", "ZFS snapshots", "zfs send -nv"),
            ("synology", "Synology Hyper Backup", "the DSM API"),
        ),
        (
            (
                "verify",
                "Checks last night's {it} run: did it finish, how many files, how much changed, and does {own} "
                "agree. 备份校验。",
            ),
            (
                "retention",
                "Thins old copies of {it} by the grandfather-father-son rule and shows what will go before it does.",
            ),
            (
                "offsite",
                "Copies the newest {it} archive to a second place, compares checksums and reports the transfer rate.",
            ),
            (
                "file-recovery",
                "Brings back single files or folders somebody deleted or overwrote, from {it}, into a side folder.",
            ),
            ("missing-hosts", "对照资产清单，找出没有被 {it} 备份的主机和目录，并说明最后一次成功备份的时间。"),
        ),
    ),
    Shelf(
        "cloud-cost",
        (
            ("aws", "AWS", "Cost Explorer"),
            ("azure", "Azure", "the consumption API"),
            ("gcp", "Google Cloud", "the BigQuery billing export"),
            ("aliyun", "阿里云 Alibaba Cloud", "the BSS API"),
            ("tencent-cloud", "腾讯云 Tencent Cloud", "the billing API"),
            ("huawei-cloud", "华为云 Huawei Cloud", "the BSS API"),
            ("hetzner", "Hetzner", "the Cloud API"),
            ("cloudflare", "Cloudflare", "the analytics API"),
        ),
        (
            (
                "bill-explained",
                "Explains this month's {it} invoice against the last: which service, project and tag grew, and "
                "by how much. Reads {own}. 云账单分析。",
            ),
            (
                "idle-resources",
                "Finds {it} resources that are paid for and not used: stopped machines, unattached disks and "
                "addresses, empty load balancers. 闲置资源。",
            ),
            (
                "budget-alarm",
                "Compares {it} spending so far with the budget, forecasts the month's end, and warns before the "
                "limit is passed.",
            ),
            (
                "commitments",
                "Says which reserved instances or savings plans of {it} pay off, from ninety days of real use.",
            ),
            ("tagging", "Lists {it} resources without owner, project or environment labels, and asks their makers."),
        ),
    ),
    Shelf(
        "security",
        (
            ("ssh", "SSH servers", "auth.log and journald"),
            ("vpn", "WireGuard and OpenVPN", "wg show"),
            ("iam", "cloud IAM roles", "the access analyser"),
            ("firewall", "firewalls (nftables, iptables, ufw)", "nft list ruleset"),
            ("active-directory", "Active Directory", "LDAP queries"),
            ("okta", "Okta", "the system log"),
            ("waf", "web application firewalls", "the blocked requests"),
            ("vault", "HashiCorp Vault", "its audit device"),
        ),
        (
            (
                "break-in-attempts",
                "Counts failed logins and suspicious access to {it} by address and account, from {own}, and "
                "names attacks that might have worked. 入侵与暴力破解检查。",
            ),
            (
                "access-review",
                "Quarterly review of {it}: who has which rights, since when, who approved them, and which nobody used.",
            ),
            (
                "key-rotation",
                "Finds credentials of {it} older than ninety days, replaces them in order and proves that "
                "nothing still uses the old ones.",
            ),
            (
                "hardening",
                "Compares {it} with the CIS benchmark and lists what to change, with the command and the risk of each.",
            ),
            (
                "incident-timeline",
                "Builds a minute-by-minute timeline of an incident on {it} from its logs, with sources for each line.",
            ),
        ),
    ),
    Shelf(
        "code-hosting",
        (
            ("github", "GitHub", "the GraphQL API"),
            ("gitlab", "GitLab", "its REST API"),
            ("gitea", "Gitea", "its REST API"),
            ("bitbucket", "Bitbucket", "its REST API"),
            ("azure-devops", "Azure DevOps", "WIQL"),
            ("gerrit", "Gerrit", "its query language"),
            ("gitee", "Gitee 码云", "its open API"),
            ("jira", "Jira", "JQL"),
        ),
        (
            (
                "review-digest",
                "Lists the pull or merge requests of {it} that wait for somebody, oldest first, with who is "
                "asked and what blocks them.",
            ),
            (
                "release-notes",
                "Writes a changelog for people from what was merged on {it} since the last tag, grouped by "
                "user-visible effect.",
            ),
            (
                "flaky-pipelines",
                "Finds {it} builds that fail and pass on the same commit, names the unstable tests and how often "
                "they break.",
            ),
            (
                "issue-triage",
                "Sorts new bug reports on {it}: duplicates, missing details, severity, a first label and a "
                "polite question.",
            ),
            (
                "stale-branches",
                "Lists {it} branches without commits for ninety days, merged or not, with their author, for deletion.",
            ),
        ),
    ),
    Shelf(
        "languages",
        (
            ("python", "Python", "uv and pip-audit"),
            ("node", "Node.js", "npm outdated and npm audit"),
            ("golang", "Go", "govulncheck"),
            ("rust", "Rust", "cargo outdated and cargo deny"),
            ("java", "Java", "the Maven versions plugin"),
            ("dotnet", ".NET", "dotnet list package --outdated"),
            ("php", "PHP", "composer audit"),
            ("ruby", "Ruby", "bundle outdated"),
        ),
        (
            (
                "dependency-update",
                "Raises the third-party libraries of a {it} project one at a time with {own}, runs the tests "
                "after each and keeps those that pass. 依赖升级。",
            ),
            (
                "coverage-gaps",
                "Finds {it} code that no test touches and that changed often, and writes the three most useful "
                "missing tests.",
            ),
            (
                "dead-code",
                "Finds unused functions, files and flags in a {it} code base, proves that nothing calls them and "
                "removes them.",
            ),
            (
                "build-time",
                "Measures where the build and the test suite of a {it} project spend their minutes, and proposes "
                "what to cache or to run in parallel.",
            ),
            (
                "licence-check",
                "Lists the licences of everything a {it} project ships and flags copyleft or unknown ones. "
                "开源许可证合规。",
            ),
        ),
    ),
    Shelf(
        "monitoring",
        (
            ("prometheus", "Prometheus", "PromQL"),
            ("grafana", "Grafana", "its dashboards as JSON"),
            ("zabbix", "Zabbix", "its JSON-RPC API"),
            ("datadog", "Datadog", "monitors and SLOs"),
            ("sentry", "Sentry", "issue events"),
            ("elasticsearch", "Elasticsearch and Kibana", "_cat and saved searches"),
            ("loki", "Loki", "LogQL"),
            ("uptime-kuma", "Uptime Kuma", "its heartbeat table"),
        ),
        (
            (
                "alert-noise",
                "Counts which {it} alerts fire most and are never acted on, and proposes thresholds or silences. "
                "告警降噪。",
            ),
            (
                "weekly-slo",
                "Works out availability and error budget of each service from {it} for the week, with the worst "
                "hour explained.",
            ),
            (
                "blind-spots",
                "Finds hosts and services that {it} does not watch although they run, and drafts the missing "
                "checks with {own}.",
            ),
            (
                "storage-cost",
                "Says which metrics, fields or streams make {it} large, and what to drop or keep for a shorter time.",
            ),
            (
                "night-summary",
                "值班交接：汇总昨夜 {it} 的告警和异常，哪些已恢复，哪些需要白班继续跟进。",
            ),
        ),
    ),
    Shelf(
        "queues",
        (
            ("kafka", "Apache Kafka", "kafka-consumer-groups"),
            ("rabbitmq", "RabbitMQ", "the management API"),
            ("nats", "NATS JetStream", "nats consumer report"),
            ("sqs", "Amazon SQS", "CloudWatch"),
            ("pulsar", "Apache Pulsar", "pulsar-admin"),
            ("celery", "Celery", "celery inspect"),
            ("rocketmq", "RocketMQ", "mqadmin"),
            ("sidekiq", "Sidekiq", "its Redis keys"),
        ),
        (
            (
                "backlog",
                "Says which consumer of {it} has fallen behind, since when and why (poison message, slow "
                "handler, too few workers), with {own}. 消息积压排查。",
            ),
            (
                "dead-letters",
                "Groups the messages that {it} could not deliver or process by reason, shows one of each, and "
                "replays those that may be sent again.",
            ),
            (
                "partition-plan",
                "Proposes shards, partitions and retention for {it} from measured throughput and key skew.",
            ),
            (
                "failover-test",
                "Stops one node of {it} in a test environment and measures lost, doubled and late messages.",
            ),
            (
                "topic-owners",
                "Finds who writes to and reads from each topic or queue of {it}, and lists those without an owner.",
            ),
        ),
    ),
    Shelf(
        "networks",
        (
            ("dns", "DNS zones", "dig +trace"),
            ("wifi", "office Wi-Fi", "the controller's client list"),
            ("bgp", "BGP sessions", "birdc show protocols"),
            ("dhcp", "DHCP", "the lease file"),
            ("cisco", "Cisco switches", "show interfaces"),
            ("mikrotik", "MikroTik routers", "RouterOS exports"),
            ("cdn", "a CDN", "its cache status headers"),
            ("load-balancer", "load balancers", "the target health API"),
        ),
        (
            (
                "outage-search",
                "Narrows down a fault in {it} from the outside in (name, route, port, certificate, answer) with "
                "{own}. 网络故障定位。",
            ),
            (
                "config-drift",
                "Fetches the running configuration of {it}, compares it with what is in git, and reports every "
                "difference.",
            ),
            (
                "utilisation",
                "Reports how busy {it} are at peak hours, the error counters, and what will be too small in "
                "three months.",
            ),
            (
                "inventory",
                "Draws up what hangs on {it}: names, addresses, makers, first and last seen; flags strangers.",
            ),
            (
                "migration-plan",
                "Plans the move of {it} to new equipment or a new provider, in steps that can each be taken back.",
            ),
        ),
    ),
    Shelf(
        "mail",
        (
            ("gmail", "Gmail", "search operators and labels"),
            ("outlook", "Outlook and Microsoft 365", "the Graph API"),
            ("exchange", "an Exchange server", "PowerShell"),
            ("postfix", "Postfix", "postqueue and the mail log"),
            ("imap", "any IMAP mailbox", "IMAP SEARCH"),
            ("newsletter", "newsletter subscriptions", "List-Unsubscribe headers"),
            ("qq-mail", "QQ 邮箱", "IMAP"),
            ("mailing-list", "mailing lists", "the archive"),
        ),
        (
            (
                "morning-digest",
                "Reads what came in overnight through {it} and sorts it: answer today, read later, no need to "
                "read; three lines each. 每日邮件摘要。",
            ),
            (
                "unanswered",
                "Finds messages in {it} that wait for my reply, or that I sent and nobody replied to, for more "
                "than three days.",
            ),
            (
                "attachments",
                "Saves attachments from {it} by sender and month, names them well and says which were seen before.",
            ),
            (
                "spam-health",
                "Checks whether mail sent through {it} lands in junk: SPF, DKIM, DMARC, block lists, bounces.",
            ),
            (
                "cleanup",
                "Proposes rules that keep {it} small: what to archive, what to leave, what to stop receiving.",
            ),
        ),
    ),
    Shelf(
        "meetings",
        (
            ("google-calendar", "Google Calendar", "free/busy"),
            ("outlook-calendar", "the Outlook calendar", "the Graph API"),
            ("zoom", "Zoom", "cloud recordings"),
            ("teams", "Microsoft Teams", "transcripts"),
            ("tencent-meeting", "腾讯会议", "the recording list"),
            ("feishu", "飞书 Feishu", "Feishu minutes"),
            ("dingtalk", "钉钉 DingTalk", "its open platform"),
            ("board", "board meetings", "the agenda and last minutes"),
        ),
        (
            (
                "minutes",
                "Turns a transcript or recording from {it} into minutes: decisions, who does what by when, open "
                "questions. 会议纪要。",
            ),
            (
                "preparation",
                "Before each appointment in {it}: who comes, what was agreed last time, what to read, in one page.",
            ),
            (
                "find-a-slot",
                "Finds times at which everybody invited through {it} is free, across time zones, and proposes "
                "the best three.",
            ),
            (
                "time-spent",
                "Adds up the hours spent in {it} by project and by kind, and names series that could be shorter "
                "or end.",
            ),
            (
                "action-chase",
                "跟进 {it} 会议的待办事项：谁没有完成、超期几天，起草一条礼貌的提醒。",
            ),
        ),
    ),
    Shelf(
        "documents",
        (
            ("pdf", "PDF files", "pdftotext and OCR"),
            ("word", "Word documents", "python-docx"),
            ("markdown", "Markdown pages", "pandoc"),
            ("confluence", "Confluence", "its storage format"),
            ("notion", "Notion", "its blocks API"),
            ("contract", "contracts", "clause numbers"),
            ("slides", "presentations", "speaker notes"),
            ("scanned", "scanned paper", "tesseract"),
        ),
        (
            (
                "summary",
                "Summarises long {it} for somebody with two minutes: what it says, what it asks for, what is "
                "missing; with page numbers. 文档摘要。",
            ),
            (
                "compare",
                "Compares two versions of {it} and lists what was added, removed or moved, by meaning and not by "
                "line. 版本对比。",
            ),
            (
                "table-extraction",
                "Pulls tables and figures out of {it} into CSV, with {own}, and marks cells it is not sure of.",
            ),
            (
                "redaction",
                "Blacks out names, addresses, account numbers and other personal data in {it} before they leave "
                "the house.",
            ),
            (
                "outdated",
                "Finds {it} that nobody has changed for a year or that mention versions, people and links that "
                "are gone.",
            ),
        ),
    ),
    Shelf(
        "spreadsheets",
        (
            ("sales-sheet", "sales figures", "region and product"),
            ("inventory-sheet", "stock lists", "warehouse and article"),
            ("budget-sheet", "budgets", "cost centre and month"),
            ("survey-sheet", "survey answers", "question and group"),
            ("timesheet", "timesheets", "person and week"),
            ("price-sheet", "price lists", "supplier and article"),
            ("customer-sheet", "customer lists", "name and address"),
            ("lab-sheet", "laboratory readings", "sample and instrument"),
        ),
        (
            (
                "clean-up",
                "Cleans a spreadsheet of {it}: dates as dates, numbers as numbers, one spelling each, duplicates "
                "by {own}. 表格清洗。",
            ),
            (
                "weekly-chart",
                "Draws the week's {it} as three charts with a sentence each, by {own}, against last week and "
                "last year.",
            ),
            (
                "reconcile",
                "Matches two tables of {it} row by row, and lists what is in one and not in the other, or differs.",
            ),
            (
                "outliers",
                "Finds values in {it} that cannot be right: typing slips, wrong units, sudden jumps. 异常值检查。",
            ),
            (
                "pivot-report",
                "汇总{it}：按维度透视、同比环比，生成给领导看的一页报表。",
            ),
        ),
    ),
    Shelf(
        "finance",
        (
            ("invoice", "incoming invoices", "发票"),
            ("expense", "travel expenses and receipts", "差旅报销"),
            ("bank-statement", "bank statements", "银行流水"),
            ("vat", "VAT returns", "增值税"),
            ("receivable", "unpaid customer bills", "应收账款"),
            ("subscription", "software subscriptions", "订阅费用"),
            ("payroll", "payroll", "工资"),
            ("portfolio", "a share portfolio", "股票持仓"),
        ),
        (
            (
                "intake",
                "Reads {it} from mail or a folder, checks amounts, dates and tax numbers, and files them. "
                "录入与核对{own}。",
            ),
            (
                "monthly-close",
                "Prepares the month's end for {it}: what is missing, what does not add up, who must confirm. "
                "{own}月结。",
            ),
            (
                "anomalies",
                "Finds double payments, odd amounts and unknown parties in {it}. {own}异常检查。",
            ),
            (
                "reminder",
                "Drafts friendly first and firm second reminders about {it} that are late, and keeps count. "
                "催办{own}。",
            ),
            (
                "forecast",
                "Forecasts the next three months of {it} from the last two years, with a low and a high case. "
                "{own}预测。",
            ),
        ),
    ),
    Shelf(
        "research",
        (
            ("arxiv", "arXiv papers", "category listings"),
            ("pubmed", "medical literature on PubMed", "MeSH terms"),
            ("patents", "patents", "classification codes"),
            ("competitor", "competitors", "their sites, prices and job offers"),
            ("regulation", "laws and official gazettes", "the publication number"),
            ("hacker-news", "Hacker News and Reddit", "points and comments"),
            ("industry-news", "trade news", "RSS feeds"),
            ("grants", "public grants and tenders", "the deadline"),
        ),
        (
            (
                "daily-digest",
                "Collects what is new among {it} since yesterday, by {own}, drops repeats, and explains the five "
                "that matter.",
            ),
            (
                "deep-dive",
                "Answers one question from {it} thoroughly: sources, who says what, where they disagree, how "
                "sure one can be.",
            ),
            (
                "watchlist",
                "Watches named people, firms or terms among {it} and reports only when something happens. 关注清单。",
            ),
            (
                "trend-report",
                "Counts topics among {it} over a year and says what rises, what falls and what only makes noise.",
            ),
            (
                "translation",
                "把{it}的要点翻译成中文，保留术语原文，附来源链接。",
            ),
        ),
    ),
    Shelf(
        "social-media",
        (
            ("weibo", "微博", "热搜榜"),
            ("wechat", "微信公众号", "阅读数和在看数"),
            ("zhihu", "知乎", "问题关注数"),
            ("xiaohongshu", "小红书", "笔记收藏数"),
            ("douyin", "抖音", "完播率"),
            ("bilibili", "哔哩哔哩 B站", "弹幕和投币"),
            ("linkedin", "LinkedIn", "impressions"),
            ("mastodon", "Mastodon", "boosts"),
        ),
        (
            ("hot-topics", "抓取{it}当天的热点话题，去重分类，按{own}排序，写成一页简报。Trending topics."),
            (
                "post-draft",
                "根据素材为{it}起草一篇帖文：标题三选一、正文、标签、配图建议，符合平台规范。Drafts a post.",
            ),
            ("comment-replies", "整理{it}的新评论和私信，挑出需要回复的，分别起草回复。Drafts answers to comments."),
            (
                "growth-report",
                "统计{it}账号本周的涨粉、{own}和互动，与上周对比，分析哪一篇带来了变化。Weekly account report.",
            ),
            (
                "crisis-watch",
                "监测{it}上关于本公司的负面舆情，出现苗头时立即提醒，并给出原文和传播路径。Reputation watch.",
            ),
        ),
    ),
    Shelf(
        "shops",
        (
            ("taobao", "淘宝和天猫", "生意参谋"),
            ("jd", "京东", "商智"),
            ("pinduoduo", "拼多多", "商家后台"),
            ("shopify", "Shopify", "Admin API"),
            ("amazon-seller", "亚马逊 Amazon 卖家", "SP-API"),
            ("woocommerce", "WooCommerce", "REST API"),
            ("meituan", "美团", "开店宝"),
            ("ebay", "eBay", "Sell API"),
        ),
        (
            (
                "order-report",
                "汇总{it}店铺昨天的订单、销售额、退款和客单价，数据取自{own}，并与上周同日比较。Daily shop figures.",
            ),
            (
                "stock-warning",
                "检查{it}店铺的库存，按最近销量估算还能卖几天，低于阈值时提醒补货。Warns before an article sells out.",
            ),
            (
                "review-analysis",
                "分析{it}的买家评价：差评集中在哪些商品和原因，给出改进建议。What bad reviews have in common.",
            ),
            ("price-watch", "每天对比{it}上同款商品的竞品价格，价格有变动时提醒。Competitors' prices."),
            (
                "refund-check",
                "核对{it}的退货退款：金额是否一致、是否超时、有无可疑的恶意退款。Checks returns and refunds.",
            ),
        ),
    ),
    Shelf(
        "support",
        (
            ("zendesk", "Zendesk", "tickets and macros"),
            ("intercom", "Intercom", "conversations"),
            ("freshdesk", "Freshdesk", "tickets"),
            ("phone-line", "the telephone hotline", "call notes"),
            ("app-review", "app store reviews", "stars and versions"),
            ("live-chat", "在线客服", "会话记录"),
            ("wecom-group", "企业微信客户群", "群消息"),
            ("community-forum", "the community forum", "threads"),
        ),
        (
            (
                "daily-themes",
                "Groups the day's customer questions from {it} by cause, with counts and one real quote each, "
                "and says what is new. 客户问题归类。",
            ),
            (
                "answer-drafts",
                "Drafts answers to open questions in {it} from the handbook, with the source, for a person to "
                "send. 起草客服回复。",
            ),
            (
                "overdue",
                "Lists {it} cases past their promised time of answer, angriest customer first. 超时工单。",
            ),
            (
                "handbook-gaps",
                "Finds what customers ask in {it} that the help pages do not answer, and drafts the missing article.",
            ),
            (
                "satisfaction",
                "Reports how content customers of {it} are: scores, reasons, and which change moved them. 满意度分析。",
            ),
        ),
    ),
    Shelf(
        "people",
        (
            ("applicant", "job applications", "the CV and the advert"),
            ("onboarding", "new colleagues", "the first thirty days"),
            ("leaver", "people who leave", "accounts and equipment"),
            ("training", "courses and certificates", "the date of expiry"),
            ("holiday", "leave requests", "the team calendar"),
            ("shift", "duty rosters", "rest times"),
            ("attendance", "考勤记录", "打卡数据"),
            ("appraisal", "performance reviews", "goals and notes"),
        ),
        (
            (
                "overview",
                "Weekly overview of {it}: what is new, what waits, what is late, by {own}. 人事周报。",
            ),
            (
                "checklist",
                "Works through the checklist for {it}, reminds whoever is late and ticks off what can be proved.",
            ),
            (
                "letters",
                "Drafts the letters that go with {it}: invitation, confirmation, refusal, thanks.",
            ),
            (
                "conflicts",
                "Finds clashes in {it}: overlaps, missing cover, rules of working time that would be broken. "
                "冲突检查。",
            ),
            (
                "statistics",
                "Anonymous figures about {it} for the management, never about one person.",
            ),
        ),
    ),
    Shelf(
        "household",
        (
            ("energy", "electricity and gas use", "the smart meter"),
            ("home-assistant", "Home Assistant", "its history API"),
            ("garden", "the garden", "the weather forecast"),
            ("groceries", "groceries and meals", "the pantry list"),
            ("school", "school and children's dates", "the school's site"),
            ("photo", "the photo collection", "EXIF dates"),
            ("nas", "the NAS at home", "SMART values"),
            ("car", "the car", "the service book"),
        ),
        (
            (
                "week-plan",
                "Plans the week for {it}, with {own}: what to do on which day, what to buy. 家庭周计划。",
            ),
            (
                "reminders",
                "Reminds in time about what {it} need: dates, renewals, repairs, appointments. 生活提醒。",
            ),
            (
                "sorting",
                "Sorts and names what belongs to {it}, finds doubles, and asks before anything is thrown away.",
            ),
            (
                "money-saver",
                "Works out where {it} cost too much and what a change would save in a year. 省钱建议。",
            ),
            (
                "warning",
                "Watches {it} with {own} and warns at once when something is out of the ordinary. 异常提醒。",
            ),
        ),
    ),
    Shelf(
        "machine-learning",
        (
            ("training-run", "training runs", "the loss curve"),
            ("gpu", "GPU servers", "nvidia-smi"),
            ("dataset", "data sets", "schema and label counts"),
            ("embedding", "embedding indexes", "recall at ten"),
            ("llm-eval", "language model evaluations", "the scored answers"),
            ("mlflow", "MLflow", "its experiments"),
            ("airflow", "Airflow pipelines", "DAG runs"),
            ("dbt", "dbt models", "the manifest"),
        ),
        (
            (
                "health",
                "Says whether {it} go well: stuck, failed, wasting hours, out of memory; looks at {own}. "
                "训练与任务巡检。",
            ),
            (
                "comparison",
                "Compares two {it} fairly: same data, same seed, which differences are noise.",
            ),
            (
                "drift",
                "Finds out whether {it} have moved away from what they were a month ago, and which field moved. "
                "漂移检测。",
            ),
            (
                "cost-report",
                "Adds up hours and money of {it} by person and project, and names what nobody looked at afterwards.",
            ),
            (
                "lineage",
                "Shows where {it} come from and what hangs on them, before one is changed or removed.",
            ),
        ),
    ),
)


# Issue 5, check 5: each is in the index, or one call of skills_list finds it.
CHECK_PROBES = (
    Probe(
        "Our Postgres has been crawling since the release on Tuesday. Find out which statements eat the time and "
        "tell me what to do about them.",
        "postgres-slow-queries",
    ),
    Probe("检查一下线上 MySQL 从库落后主库多少，超过 30 秒就告诉我原因", "mysql-replica-lag"),
    Probe(
        "Pods of the checkout service keep going into CrashLoopBackOff after each rollout; look every hour and "
        "say why.",
        "kube-deployment-triage",
    ),
    Probe("every Monday: tell me how many days our https certs on the nginx boxes have left", "nginx-certificates"),
    Probe("The root partition of the Ubuntu build box is at 96 %. See what takes the room.", "ubuntu-disk-full"),
    Probe("每天早上八点看看昨晚 restic 备份有没有成功，文件数和大小对不对", "restic-verify"),
    Probe("Why is the AWS invoice 40 % higher than last month? Which project is it?", "aws-bill-explained"),
    Probe("找出阿里云上花了钱却没人用的机器、磁盘和公网 IP", "aliyun-idle-resources"),
    Probe(
        "Did anybody try to get in over ssh last night? Count the wrong passwords per address.", "ssh-break-in-attempts"
    ),
    Probe(
        "each Friday, write down for our users what we merged on GitHub since the last version", "github-release-notes"
    ),
    Probe(
        "bump the packages in the python service one by one and keep only those where pytest stays green",
        "python-dependency-update",
    ),
    Probe(
        "our on-call gets 200 pages a night from Prometheus and ignores most of them, which ones should go?",
        "prometheus-alert-noise",
    ),
    Probe("看看 Kafka 哪个消费组积压了，从什么时候开始的，为什么", "kafka-backlog"),
    Probe(
        "7am daily: go through what arrived in my Gmail overnight and sort it into answer today / later / ignore",
        "gmail-morning-digest",
    ),
    Probe("把今天飞书会议的录音整理成纪要：决定了什么，谁负责，什么时候完成", "feishu-minutes"),
    Probe(
        "Two revisions of the supplier contract are in /inbox. What did they change in the second one?",
        "contract-compare",
    ),
    Probe(
        "match the bank statement against our books and shout when something was paid twice", "bank-statement-anomalies"
    ),
    Probe("每天早上给我一份微博热搜简报，去掉重复的", "weibo-hot-topics"),
    Probe("京东店铺哪些商品快卖完了？按最近的销量算一下还能卖几天", "jd-stock-warning"),
    Probe("Check the GPU machines every 20 minutes: is a job stuck, or has one run out of memory?", "gpu-health"),
)

# Issue 5, figures: nine of ten are in the index itself.
FIGURE_PROBES = (
    Probe(
        "nightly: prove that last night's mysqldump of MySQL can actually be loaded, count the rows",
        "mysql-restore-drill",
    ),
    Probe(
        "When will the disk of the Mongo cluster be full if the collections go on like this?", "mongodb-growth-forecast"
    ),
    Probe(
        "SQL Server says too many connections every afternoon. Which client doesn't give them back?",
        "sqlserver-connection-pool",
    ),
    Probe("Redis 最近变慢了，看看是哪些命令耗时最长", "redis-slow-queries"),
    Probe("Which k8s nodes are bigger than they need to be? Look at a week.", "kube-node-capacity"),
    Probe(
        "before we go to Kubernetes 1.34: does any of our Helm charts still use an API version that is gone?",
        "helm-release-upgrade-check",
    ),
    Probe(
        "deploy the new build with docker on staging, and go back to the old one if the health check fails",
        "docker-deploy",
    ),
    Probe(
        "The Compose stack on box 7 starts, dies, starts, dies. What's the exit code and why?", "compose-restart-loop"
    ),
    Probe("清理 Docker 旧镜像，服务器空间不够了，正在运行的别动", "docker-image-prune"),
    Probe("Since 14:00 HAProxy gives lots of 502s. Which upstream is it?", "haproxy-error-spike"),
    Probe("统计昨天 nginx 的访问日志：访客数、最热门的页面、最慢的路径", "nginx-access-report"),
    Probe(
        "install the security fixes on the Debian hosts on Sunday at 3 and tell me which ones want a reboot",
        "debian-patching",
    ),
    Probe("who can still log in on the RHEL servers although they left the company?", "rhel-user-accounts"),
    Probe("按安全基线检查 openEuler 服务器，列出要整改的地方", "openeuler-baseline"),
    Probe(
        "Anna deleted the folder Q3-plans by mistake. Get it back out of Borg, next to the original.",
        "borg-file-recovery",
    ),
    Probe(
        "warn me as soon as it looks like we'll spend more on Azure this month than the 4,000 we planned",
        "azure-budget-alarm",
    ),
    Probe("腾讯云这个月的账单为什么比上个月贵？哪个服务涨了？", "tencent-cloud-bill-explained"),
    Probe(
        "go through all rights in Active Directory once a quarter: who has what and never used it",
        "active-directory-access-review",
    ),
    Probe("list merge requests on GitLab that have been sitting there waiting for a reviewer", "gitlab-review-digest"),
    Probe(
        "some tests on GitHub fail, then pass when you press retry. Find out which and how often.",
        "github-flaky-pipelines",
    ),
    Probe("把 Java 项目用到的开源组件的许可证列出来，标出有传染性的", "java-licence-check"),
    Probe("our Rust build takes 25 minutes on CI, where does the time go?", "rust-build-time"),
    Probe("which of our servers run without being in Zabbix at all?", "zabbix-blind-spots"),
    Probe("值班交接：昨晚 Grafana 有哪些告警，还有哪些没恢复", "grafana-night-summary"),
    Probe("RabbitMQ 里投递失败的消息按原因分组，能重发的重发", "rabbitmq-dead-letters"),
    Probe("Half the office can't reach the intranet by name. Is it DNS? Start from outside.", "dns-outage-search"),
    Probe("has anyone changed a Cisco switch by hand, compared with what we keep in git?", "cisco-config-drift"),
    Probe(
        "Mails we send through Postfix end up in people's junk folder. Check dkim, spf and the block lists.",
        "postfix-spam-health",
    ),
    Probe(
        "who still owes me a reply in Outlook for more than three days, and whom do I owe one?", "outlook-unanswered"
    ),
    Probe(
        "find an hour next week when all five of us are free, Google Calendar, Berlin and Shanghai",
        "google-calendar-find-a-slot",
    ),
    Probe("get the tables out of the quarterly report pdf and into csv", "pdf-table-extraction"),
    Probe("客户名单表格里有很多重复和写法不一致的，整理一下", "customer-sheet-clean-up"),
    Probe(
        "chase customers whose bills are overdue, kindly the first time, less kindly the second", "receivable-reminder"
    ),
    Probe("每天从 arXiv 上挑五篇值得看的新论文，说明为什么", "arxiv-daily-digest"),
    Probe("本周抖音账号涨了多少粉，完播率怎么样，哪条视频带来的", "douyin-growth-report"),
    Probe("what do our bad Amazon reviews have in common, and for which articles?", "amazon-seller-review-analysis"),
    Probe("Zendesk: which customers have been waiting longer than we promised?", "zendesk-overdue"),
    Probe("Check next month's roster for people without enough rest between two shifts", "shift-conflicts"),
    Probe("家里这个月电费太高了，看看哪里能省", "energy-money-saver"),
    Probe("Has our labelled data set moved away from what it was in October? Which field?", "dataset-drift"),
)
