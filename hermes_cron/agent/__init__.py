"""What does an agent do with a task: the loop, its tool batches and its ends?"""
