from tests.support.flow_runs import flows_in_process, patient  # noqa: F401
