"""What may an agent do? One file a tool: each declares a module-level ``TOOL``; see docs/formats/tools.md."""
