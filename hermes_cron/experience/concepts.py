"""Which words mean the same work, in English and Chinese?

A prompt and a skill's description are seldom by the same person: one says "k8s" or 备份, the other "kubernetes" or
"backup". The table is common knowledge of such work, not of anyone's skills; a word may stand in several lines.
"""

from __future__ import annotations

import re
from functools import cache

_TABLE = """
backup dump archive | 备份 转储
restore recover recovery | 恢复 还原
snapshot | 快照
database db databases rdbms | 数据库 库
postgres postgresql pg psql |
mysql mariadb innodb |
mongodb mongo |
redis cache caching | 缓存
query sql | 查询
table tables | 表 数据表
index indexes indices | 索引
slow latency performance perf tuning tune optimise optimize optimization | 慢 性能 调优 优化 延迟 慢查询
replica replication standby | 复制 副本 主从 从库
migrate migration | 迁移
schema ddl | 表结构 结构
deadlock lock locking | 死锁 锁 锁等待
vacuum bloat | 膨胀
transaction | 事务
connection pool pooler | 连接 连接池 连接数
deploy deployment release rollout ship | 部署 发布 上线 发版
rollback revert | 回滚 回退
build compile ci | 构建 编译 打包 持续集成
pipeline workflow | 流水线 流程
test tests testing qa | 测试
coverage | 覆盖率
lint linter style | 代码规范 规范检查
review reviewing | 评审 审查 审核 审阅
merge pr pull | 合并 合并请求
code source | 代码 源码
repository repo git github gitlab | 仓库 代码库
branch | 分支
commit changelog | 提交 变更日志 更新日志
version versions semver | 版本
dependency dependencies package packages npm pip | 依赖 软件包 包
vulnerability vulnerabilities cve | 漏洞
security secure hardening harden | 安全 加固
patch patches update upgrade | 更新 升级 补丁
container docker image images | 容器 镜像
kubernetes k8s kubectl helm pod pods cluster | 集群 容器编排
node nodes host hosts server servers machine | 主机 服务器 机器 节点
terraform iac infrastructure | 基础设施
ansible playbook | 剧本
cloud aws azure gcp | 云 云服务 云平台 阿里云 腾讯云
bucket s3 object storage | 对象存储 存储桶 存储
disk filesystem volume | 磁盘 硬盘 分区 文件系统
memory ram oom | 内存
cpu load | 负载 处理器
network networking | 网络
dns domain domains | 域名 解析
certificate cert certs tls ssl | 证书
firewall iptables | 防火墙
proxy nginx haproxy ingress gateway | 代理 反向代理 网关
vpn | 虚拟专用网
port ports | 端口
log logs logging journal | 日志
rotate rotation | 轮转 轮换
monitor monitoring watch | 监控 监测 监视 观察
alert alerts alarm pager oncall | 告警 报警 警报 值班
metric metrics prometheus grafana | 指标
dashboard | 看板 仪表盘 面板 大屏
incident outage postmortem | 事故 故障 宕机 复盘
troubleshoot debug diagnose diagnosis diagnostics | 排查 诊断 调试 排障 定位
health healthcheck | 健康 健康检查
inspect inspection check audit examine | 巡检 检查 审计 核查
capacity forecast forecasting predict prediction | 容量 预测 预估
cleanup clean delete remove prune purge | 清理 删除 清除 清空
retention expire expired expiry renew renewal | 过期 到期 续期 保留
archive archiving | 归档
compress zip gzip tar | 压缩 解压
sync synchronise synchronize mirror rsync | 同步 镜像
copy transfer upload | 上传 传输 拷贝
download fetch | 下载 抓取
crawl crawler scrape scraping scraper | 爬虫 爬取 采集 抓取
schedule cron timer calendar | 定时 计划任务 日程 日历
queue kafka rabbitmq broker | 队列 消息队列
service systemd daemon | 服务 守护进程
process processes | 进程
restart reboot | 重启
config configuration settings | 配置 设置
secret secrets vault credential credentials password key | 密钥 密码 凭据 口令
auth authentication login sso oauth | 登录 认证 鉴权 单点登录
permission permissions access role rbac iam | 权限 访问控制 角色
user users account accounts | 用户 账号 账户 帐号
email mail inbox newsletter | 邮件 邮箱 电子邮件
chat slack teams message messaging | 消息 聊天 群 群聊
notify notification announce announcement | 通知 公告 提醒
reminder remind | 提醒 催办
meeting meetings minutes agenda | 会议 会议纪要 纪要 议程
notes note | 笔记 记录
summary summarise summarize digest recap | 摘要 总结 汇总 概括 纪要
report reporting | 报告 报表
daily standup | 日报 每日 每天
weekly | 周报 每周
monthly month | 月报 每月 月度 月末
quarterly quarter okr | 季度 季报
yearly annual | 年度 年报
document documents doc docs documentation | 文档 文件 资料
pdf |
word docx |
spreadsheet excel xlsx csv sheet | 表格 电子表格
slides slide presentation powerpoint pptx deck | 幻灯片 演示 演示文稿 汇报
chart charts plot graph visualise visualize visualization | 图表 绘图 可视化 画图 作图
diagram architecture | 架构图 架构 示意图
template templates | 模板
translate translation localise localize localization i18n | 翻译 本地化 国际化
proofread proofreading grammar editing | 校对 润色 语法
write writing draft copywriting | 写作 撰写 起草 文案
blog article post | 博客 文章 推文
seo keyword keywords | 搜索引擎优化 关键词
social twitter linkedin weibo | 社交媒体 微博 公众号 小红书 朋友圈
marketing campaign advertising ads ad promotion | 营销 推广 广告 活动 投放
landing page website web site | 网站 网页 落地页 官网
analytics analysis analyse analyze analyst | 分析
statistics statistical stats | 统计
data dataset datasets | 数据 数据集
etl warehouse ingest ingestion | 数仓 数据仓库 入库 导入
import | 导入
export | 导出
clean cleaning cleanse cleansing dedupe deduplicate deduplication duplicate duplicates | 清洗 去重 重复
validate validation quality | 校验 验证 质量
compare comparison diff reconcile reconciliation | 对比 比较 对账 核对 差异
anomaly anomalies outlier outliers | 异常 离群
experiment ab abtest | 实验 测试组
funnel conversion | 转化 漏斗 转化率
churn retention cohort | 流失 留存
segment segmentation | 分群 分层 细分
customer customers client clients crm | 客户 顾客
support ticket tickets helpdesk | 工单 客服 售后 支持
complaint complaints feedback survey | 投诉 反馈 问卷 调查 调研
faq knowledge | 知识库 常见问题 问答
sales sell lead leads prospect prospecting | 销售 线索 商机 潜在客户
quote quotation proposal bid tender rfp | 报价 投标 标书 提案 招标
contract contracts agreement nda | 合同 协议 保密协议
legal law compliance gdpr privacy | 法律 法务 合规 隐私
policy policies | 政策 制度 策略
risk risks | 风险
invoice invoices billing bill | 发票 账单 开票
payment payments pay payout | 付款 支付 收款
refund refunds chargeback | 退款 退货
expense expenses reimbursement receipt receipts | 报销 费用 票据 收据 小票
budget budgeting cost costs spend spending finops | 预算 成本 费用 开支 花费
accounting ledger bookkeeping journal | 会计 记账 总账 财务 账目
finance financial | 财务 金融
tax taxes vat | 税 税务 报税 增值税
payroll salary salaries wage | 工资 薪资 薪酬 发薪
bank statement | 银行 流水 银行流水
stock stocks portfolio investment trading shares | 股票 投资 持仓 交易 基金
price prices pricing | 价格 定价 比价
exchange currency rate rates | 汇率 外汇 货币
crypto bitcoin blockchain | 加密货币 比特币 区块链
order orders | 订单
inventory stock warehouse | 库存 仓库 存货
shipping shipment delivery logistics parcel tracking | 物流 快递 发货 配送 运输
product products catalog catalogue | 产品 商品 货品
supplier suppliers vendor vendors procurement purchasing purchase | 供应商 采购
ecommerce shop store shopify | 电商 网店 店铺 商城
recruit recruiting hiring hire candidate candidates resume cv | 招聘 候选人 简历
interview interviews | 面试 访谈
onboard onboarding | 入职 新人
offboard offboarding | 离职
leave vacation attendance timesheet timesheets | 请假 休假 考勤 工时
training course courses lesson | 培训 课程 教学
employee employees staff hr | 员工 人事 人力资源
project projects milestone | 项目 里程碑
task tasks todo todos | 任务 待办
roadmap planning plan | 规划 计划 路线图
risk blocker | 阻塞
sprint scrum agile jira | 迭代 冲刺 敏捷
requirement requirements spec prd specification | 需求 规格
design ui ux figma mockup | 设计 界面 原型
image images photo photos picture pictures | 图片 照片 图像 相片
video videos clip footage | 视频 短视频 影片
audio podcast voice speech | 音频 播客 语音 录音
transcribe transcription transcript subtitle subtitles caption captions | 转写 字幕 转录 听写
ocr recognise recognize scan scanned | 识别 扫描 扫描件
face | 人脸
music song playlist | 音乐 歌曲 歌单
book books reading library | 图书 书籍 阅读
paper papers research literature arxiv citation citations bibliography | 论文 文献 研究 引用 参考文献
patent | 专利
news headlines | 新闻 资讯 头条
weather | 天气 气象 预报
travel trip itinerary flight flights hotel hotels | 旅行 旅游 行程 航班 机票 酒店
map route routing location geo | 地图 路线 位置 地理
restaurant food recipe recipes meal meals menu cooking | 餐厅 菜谱 食谱 饮食 菜单 做饭
grocery shopping | 购物 买菜
fitness workout exercise running | 健身 运动 锻炼 跑步
health medical patient clinic | 医疗 病人 患者 健康
sleep | 睡眠
medication medicine drug | 用药 药物 药品
school student students homework exam | 学校 学生 作业 考试
language vocabulary | 语言 单词 词汇
child children kids family | 孩子 家庭
birthday gift | 生日 礼物
home house smart | 家居 智能家居 家庭
energy electricity power | 电力 能源 用电 电量
garden plant plants | 花园 植物
car vehicle fleet | 汽车 车辆 车队
sensor sensors iot telemetry device devices | 传感器 物联网 设备
factory manufacturing production | 工厂 生产 制造
maintenance maintain repair | 维护 维修 保养
model models train ml machine learning | 模型 训练 机器学习
prompt prompts llm gpt agent agents | 提示词 大模型 智能体
embedding embeddings vector rag retrieval | 向量 检索 嵌入
label labels labelling annotation annotate | 标注 标签
classify classification classifier categorise categorize triage | 分类 归类 分拣
sentiment opinion | 情感 舆情 情绪
cluster clustering | 聚类
notebook jupyter pandas python |
javascript typescript node react frontend | 前端
backend api apis endpoint rest graphql | 接口 后端
mobile android ios app apps | 移动端 应用 手机
browser selenium playwright | 浏览器
regex pattern | 正则
json yaml xml parse parser parsing | 解析
file files folder folders directory rename | 文件 文件夹 目录 重命名
search find lookup | 搜索 查找 检索
convert conversion converter format transform | 转换 格式 转成
generate generator create make | 生成 创建 制作
merge combine join split | 合并 拆分 拼接
extract extraction | 提取 抽取
approve approval signoff | 审批 批准
sign signature | 签名 签署
encrypt encryption | 加密
token tokens | 令牌
rate limit throttle quota | 限流 配额
benchmark loadtest stress | 压测 压力测试 基准
profile profiling profiler flamegraph | 剖析
memoryleak leak leaks | 泄漏 泄露
crash crashes segfault | 崩溃
error errors exception exceptions failure failures | 错误 报错 异常 失败
trace tracing opentelemetry span | 链路 追踪
uptime availability sla slo | 可用性 可用率
chaos drill disaster failover dr | 演练 容灾 灾备 故障转移 切换
refactor refactoring legacy | 重构
openapi swagger | 接口文档
comment comments reply respond | 评论 回复
event events webinar conference | 会议 活动 展会
press pr journalist | 新闻稿 媒体
brand branding logo | 品牌 标志
competitor competitors competitive | 竞品 竞争对手 对手
market | 市场
investor investors fundraising pitch | 投资人 融资 路演
board governance | 董事会
donation donor nonprofit grant grants | 捐款 募捐 资助
property rent rental tenant lease | 租金 房租 租客 租赁 房产
insurance claim claims | 保险 理赔
visa passport | 签证 护照
""".strip()

_CJK_RUN = re.compile(r"[\u3400-\u9fff]+")


@cache
def of_words() -> dict[str, tuple[int, ...]]:
    """The concepts of each English word, as it is written."""
    found: dict[str, list[int]] = {}
    for number, (english, _) in enumerate(_lines()):
        for word in english:
            found.setdefault(word, []).append(number)
    return {word: tuple(numbers) for word, numbers in found.items()}


@cache
def _of_signs() -> tuple[re.Pattern[str], dict[str, tuple[int, ...]]]:
    found: dict[str, list[int]] = {}
    for number, (_, chinese) in enumerate(_lines()):
        for word in chinese:
            found.setdefault(word, []).append(number)
    longest_first = sorted(found, key=lambda word: (-len(word), word))
    return re.compile("|".join(map(re.escape, longest_first))), {word: tuple(it) for word, it in found.items()}


def in_chinese(text: str) -> list[int]:
    """The concepts of a text's Chinese words, the longest word at each place, as often as they stand."""
    pattern, numbers = _of_signs()
    return [number for run in _CJK_RUN.findall(text) for word in pattern.findall(run) for number in numbers[word]]


def _lines() -> list[tuple[list[str], list[str]]]:
    parts = (line.partition("|") for line in _TABLE.splitlines())
    return [(english.split(), chinese.split()) for english, _, chinese in parts]
