"""Loading one partition from its directory, after a clean stop or an unclean one.

loading takes the steps in order. temporary_files finishes a deletion or a cleaning that a crash
interrupted. splitting splits segments whose offsets do not fit. recover_segment and cut_off repair
segments that may be damaged. producer_loading loads the producers. load_watch follows the progress.
"""
