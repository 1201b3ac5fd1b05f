"""The checks of the doctor, one file for each subject. Pure: they judge facts."""
