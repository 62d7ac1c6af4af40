"""Loading one partition from its directory, after a clean stop or an unclean one.

loading puts the steps in order: files of a deletion or a cleaning that a crash interrupted
(temporary_files), segments whose offsets do not fit (splitting), segments that may be damaged
(recover_segment, cut_off), and the producers (producer_loading). load_watch is told how it goes.
"""
