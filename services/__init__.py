"""The use cases, callable from Python: none of them needs Prefect."""
