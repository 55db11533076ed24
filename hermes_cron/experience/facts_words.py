"""Which words are a number, a unit, a day, a *not*, or no name in spite of their capital? Tables of both languages."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


def table(words: str) -> tuple[str, ...]:
    """Words that are easier to read without quotes."""
    return tuple(words.split())


NOT: Final = frozenset(
    table(
        "not no never none nor neither cannot without forbidden prohibited disallowed banned refuse refuses refused "
        "must-not don't unsupported"
    )
)
EXCEPT: Final = frozenset(("except", "unless", "excluding", "besides"))
ZH_NOT: Final = re.compile(
    r"不(?!同|过|仅|断|但|管|论|错|久|少|足|如|只)|没(?!收)|未(?!来)|勿|禁|严禁|(?<![特分级区类个])别(?!人|的|处|名)|无(?!线|论)"
)
ZH_EXCEPT: Final = re.compile(r"除非|除了|除外|以外|之外")

PAIRS: Final = frozenset(
    table("and/or read/write yes/no on/off either/or he/she his/her w/o n/a input/output client/server start/stop")
)
"""Words with a stroke between them that are no path."""

NUMBERS: Final = {
    word: str(value)
    for value, word in enumerate(
        table(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        )
    )
    if word != "one"  # a pronoun more often than a number
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "twice": "2",
     "thousand": "1000", "million": "1000000", "dozen": "12"}  # fmt: skip

WEEKDAYS: Final = {
    form: number
    for number, name in enumerate(table("monday tuesday wednesday thursday friday saturday sunday"), start=1)
    for form in (name, f"{name}s")
}
MONTHS: Final = {
    name: number
    for number, name in enumerate(
        table("january february march april may june july august september october november december"),
        start=1,
    )
}


class _Units(NamedTuple):
    names: dict[str, str]
    pattern: str


def _units() -> _Units:
    forms_of = {
        "ms": "ms millisecond milliseconds 毫秒", "s": "s sec secs second seconds 秒 秒钟",
        "min": "min mins minute minutes 分钟 分", "h": "h hr hrs hour hours 小时 个小时", "day": "day days 天 日",
        "week": "week weeks 周 个星期 星期", "month": "month months 个月", "year": "year years 年",
        "kb": "kb kib", "mb": "mb mib", "gb": "gb gib", "tb": "tb tib", "%": "percent",
        "usd": "usd dollars dollar 美元",
        "eur": "eur euro euros 欧元", "yuan": "yuan cny rmb 元", "rows": "rows row 行", "people": "people 人",
    }  # fmt: skip
    names = {form: unit for unit, forms in forms_of.items() for form in forms.split()}
    forms = sorted(names, key=len, reverse=True)
    no_day = "(?![一二三四五六日天末])"  # 5432 周五 is no number of weeks
    return _Units(names, "|".join(re.escape(it) + no_day * (it in ("周", "星期")) for it in forms))


UNITS: Final = _units()

ZH_WEEKDAY: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_ZH_DIGITS = "零一二两三四五六七八九十百千万"
ZH_NUMBER: Final = re.compile(
    rf"(?<![周期拜第])([{_ZH_DIGITS}]{{2,}}|[二两三四五六七八九十百千])"
    r"(个小时|个月|个|台|次|天|份|人|位|页|套|块|元|岁|倍|级|层|章|节|版|小时|分钟|秒|年|月|周|号|点|条|张|名|家|行|成)"
)


def zh_value(text: str) -> int:
    """``十五`` is 15, ``两百`` 200."""
    total = part = digit = 0
    for sign in text:
        if sign in "十百千":
            part += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[sign]
            digit = 0
        elif sign == "万":
            total, part, digit = (total + part + digit) * 10_000, 0, 0
        else:
            digit = 2 if sign == "两" else _ZH_DIGITS.replace("两", "").index(sign)
    return total + part + digit


_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何罗高林郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈姜崔钟谭陆汪范金"
    "石廖贾夏韦付方邹熊白孟秦邱侯江尹薛闫段雷龙史陶贺顾毛郝龚邵钱严覃武戴莫孔向汤"
)
_NO_NAME = (
    "周[一二三四五六日末期报会]|高[可性度级峰于频亮]|方[法便式案向面]|任[务何意职]|许[可多]|向[量导上下右左]|于[是此]|马[上]|白[名天]|金[额融]|石[油]"
    "|程[序度]|段[落]|江[苏西]|黄[色金]|何[时处]|余[额下]|田[径]|夏[季天]|雷[达]|龙[头]|史[实]|毛[利]|钱[包]|严[格重禁]|武[器汉]|莫[名]|江|钟[头]|曾[经]|常"
    "|成[本功员]|明|时|安|和|路|单|林[业]|温|全|边|元|项|管|连|游|张[贴]|付[款费]|汤"
)
_AFTER_A_NAME = (
    "负是的在说和与跟喜要会有不也就到为从给把将被等及每管需想提审批值做用看经总工老先女主博偏习希常当接联开周今现目已正通发写读维运休"
    "请出离调转让找向由对来去叫问答可能应该或以都只才又再还更最很较后前时了着过吗呢吧、"
)
ZH_NAME: Final = re.compile(
    rf"(?:^|(?<=[的由给找是向叫和与跟及、为归请问让对系人责])|(?<=联系)|(?<=负责))(?!(?:{_NO_NAME}))(?P<name>[{_SURNAMES}][\u4e00-\u9fff][^\W\da-zA-Z{_AFTER_A_NAME}]?)"
    rf"|(?!(?:{_NO_NAME}))(?P<title>[{_SURNAMES}](?:经理|总|工|老师|先生|女士|主任|博士))"
)

ZH_PLACE: Final = re.compile(
    r"(?P<place>北京|上海|广州|深圳|杭州|南京|成都|武汉|西安|重庆|天津|苏州|香港|台北|新加坡|东京|首尔|法兰克福|伦敦|纽约)"
    r"|(?P<group>[\u4e00-\u9fff]{2}(?<![全内外局])(?:部|组|公司|集团|银行|机房))"
    r"|(?P<foreign>[\u4e00-\u9fff]{1,6}(?:·[\u4e00-\u9fff]{1,6})+)"
    r"|(?P<double>(?:欧阳|司马|上官|诸葛|夏侯|东方|尉迟|公孙|慕容|令狐)[\u4e00-\u9fff])"
)
"""Names of places and groups, and of people whose surname has two characters or who have a foreign name."""

NAMING: Final = frozenset(table("named called alias codenamed nicknamed"))
"""What comes behind is a name, whatever it looks like."""

COMMON: Final = frozenset(
    table(
        """
    a about above access according account add after agent all also although always an and another any anyone
    anything are as ask at avoid backup backups be because before being below between both build but by can cannot
    case change changes check code command comments commit config connections create current currently daily data
    database databases date day days default delete deploy deployment deployments deploys details do docs document
    documents does don't done due during each either email emails ensure entries error errors even every everyone
    everything example except failed file files first follow for format freeze from full generally give given has
    have he her here his hot how however i if important in include info information inside instead is it its jobs
    just keep last later least less list local log logs long mail main maintenance make many master maybe meeting
    meetings message messages migration migrations mind monthly more most must my name names need never new next
    night nightly no none normally not note nothing now of off often old on once one only open or other our out
    over page password people permission person phone please port prefer prefers primary process prod production
    project query read reads release releases remember remove replica replicas reply report reports response
    responses restart results review reviews role root run runs say schedule script scripts see send server
    servers service services set settings she should show since so some someone something sometimes staging start
    status stop summaries summary system systems table tables take task team tell test tests text than that the
    their them then there these they thing this those time times to today tool tools traffic two type under unless
    until up update upgrade use used user users usually value very via wait was we weekly were what when where
    whether which while who whole why will with within without work works write written yes yesterday you your
    """
    )
)
"""That begin a sentence and are no name."""
