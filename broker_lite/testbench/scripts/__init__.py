"""Scripts: rules, steps and expectations in one file, run by the broker, and run again from a log.

Input: a script as JSON or YAML, or the record of a run. Output: rules in force, requests of the
control API when their time has come, the outcome, and a record with which a run is repeated.
"""
