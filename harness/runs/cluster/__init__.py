"""Does a run's work on a Ray cluster: the only home of Ray.

The machines make what the run's cache lacks, and give it back; then the run goes on as it does on
one machine, and finds everything there. So it has one writer, and one code makes its numbers. What
waits on a server, such as a hosted chat model, stays with the run: pace, budget and failures are
counted once.
"""
