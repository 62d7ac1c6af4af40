"""Finding records in the files of logs by their content and time, with little read and decoded."""
