"""The settings that keep data out of Prefect's database and storage, in every process that runs a flow."""

REQUIRED = {
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_TASKS_DEFAULT_PERSIST_RESULT": "false",
    "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",
    "PREFECT_TASKS_DISABLE_CACHING": "true",
    "PREFECT_LOGGING_LOG_PRINTS": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "GX_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}
