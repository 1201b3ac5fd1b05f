"""Declares, by connector, the figures that only some connectors have: figure, unit, meaning, what to do. Pure."""

from __future__ import annotations

from typing import Final

Declared = tuple[str, str, str, str]
_BILLED: Final[tuple[Declared, ...]] = tuple(
    declared
    for kind, done in (("load", "load jobs"), ("merge", "merges"), ("compaction", "compactions"))
    for span, since in (("day", "today (UTC)"), ("month", "this month (UTC)"))
    for declared in (
        (f"{kind}_billed_{span}_bytes", "bytes", f"What {done} of the connector were billed for {since}.", ""),
        (f"{kind}_jobs_{span}", "jobs", f"How many {done} the connector has had {since}.", ""),
    )
)
CONNECTOR_METRICS: Final[tuple[tuple[str, tuple[Declared, ...]], ...]] = (
    ("JDBC sources", (
        ("tables_failed", "tables", "Tables that are left aside, as they cannot be read.",
         "connect connectors why NAME names them with their reasons."),
        ("slot_retained_bytes", "bytes", "How much of its log PostgreSQL keeps for the slot, by mode=log.",
         "where it grows, see that the connector keeps up before the server's disk is full."),
    )),
    ("sources of Cassandra", (
        ("splits_left", "splits", "Parts of tables that sweeps that have begun, or are due, have still to read.", ""),
    )),
    ("the one-copy connector of Cassandra", (
        ("events_total", "events", "Events of all copies that were read.", ""),
        ("duplicates_by_id_total", "events", "Copies left out, as an event of the same id was there before.", ""),
        ("duplicates_by_cell_total", "events", "Copies left out, as all of their cells were there before.", ""),
        ("unconfirmed_events_total", "events", "Events that fewer replicas have told of than were asked for.",
         "see that an agent runs on every node."),
        ("held_events", "events", "Events that are held until other replicas tell of them.", ""),
    )),
    ("agents of Cassandra", (
        ("cdc_raw_bytes", "bytes", "Size of the node's cdc_raw.", "see cdc_raw_alarm."),
        ("cdc_raw_limit_bytes", "bytes", "The node's cdc_total_space: there writes are refused or segments lost.", ""),
        ("cdc_raw_alarm", "", "1 when half of cdc_total_space is in use, 2 from four fifths on, else 0.",
         "see why Kafka does not take the changes, or raise cdc_total_space, before the node refuses writes."),
        ("waiting_segments", "segments", "Segments with changes that are not wholly in Kafka.",
         "where it grows, the agent is slower than the node, or waits: see stuck_segments, then the log."),
        ("stuck_segments", "segments", "1 while a segment cannot be read on, as its index file is broken or gone.",
         "nodetool flush lets the node go on to another segment; the log names the file."),
        ("damaged_segments", "segments", "Segments that are kept beside cdc_raw, as not all in them could be read.",
         "the log says what is wrong; other replicas have the same changes; delete them once you have looked."),
        ("lost_segments", "segments", "Segments that somebody deleted before they were read, since the agent began.",
         "let nothing but the agent delete in cdc_raw, and keep cdc_block_writes: true; repair what is missed."),
        ("unread_places", "mutations", "Mutations, and rests of segments, not to be read, since the agent began.",
         "as for damaged_segments."),
        ("unknown_mutations", "mutations",
         "Mutations left out, in whole or in part, as their table was dropped or is not known.", ""),
        ("held_up", "", "1 while the agent waits for something that its log tells, else 0.", "see the log."),
    )),
    ("sinks of BigQuery, S3 and Iceberg", (
        ("buffered_bytes", "bytes", "Bytes that the sink keeps until it writes them.",
         "where memory is short, flush sooner: flush.size, offset.flush.interval.ms, or the sink's own keys of size."),
    )),
    ("sinks of BigQuery", (
        ("appends_total", "batches", "Batches that were appended to tables.", ""),
        ("appended_rows_total", "rows", "Rows that were appended to tables.", ""),
        ("loads_total", "jobs", "Load jobs into logs of changes.", ""),
        ("loaded_rows_total", "rows", "Rows that were loaded into logs of changes.", ""),
        ("compactions_total", "statements", "Compactions of logs of changes.", ""),
        ("merges_total", "statements", "Merges into tables.", ""),
        ("merged_rows_staged_total", "rows", "Rows that were staged for merges.", ""),
        ("merged_rows_inserted_total", "rows", "Rows that merges inserted.", ""),
        ("merged_rows_updated_total", "rows", "Rows that merges updated.", ""),
        ("merged_rows_deleted_total", "rows", "Rows that merges deleted.", ""),
        ("merged_rows_dropped_total", "rows", "Staged rows that were a duplicate of another one, or older.", ""),
        ("merged_bytes_billed_total", "bytes", "What merges were billed for since the task began.",
         "where it is too much, partition and cluster the table, or merge more rarely: docs/guides/bigquery.md."),
        ("late_records_total", "records", "Records left out, as they came later than dedup reaches back.", ""),
        ("refused_rows_total", "rows", "Rows that BigQuery refused.",
         "connect dlq list shows them, with BigQuery's reasons."),
        ("load_quota_table_used_percent", "percent", "How much of a day's load jobs the most loaded table has used.",
         "near 100 load jobs wait: load more rows at a time."),
        ("load_quota_project_used_percent", "percent", "The same of the project's load jobs, this task's part.",
         "as for the table's."),
        ("load_quota_waits_total", "jobs", "Load jobs that had to wait for a quota.", "load more rows at a time."),
        *_BILLED,
        ("billed_day_usd", "USD", "The price of all that was billed today (UTC).", ""),
        ("billed_month_usd", "USD", "The price of all that was billed this month (UTC).", ""),
        ("budget_bytes", "bytes", "What the connector may be billed for in a day.", ""),
        ("budget_used_percent", "percent", "How much of that is used.",
         "at 100 merges wait until midnight (UTC): raise the budget, or merge more rarely."),
        ("budget_wait_s", "seconds", "How long tables will wait for the budget; 0: none does.", "as for its use."),
    )),
    ("sinks of S3", (
        ("open_files", "files", "Files that rows are being written to.", ""),
        ("objects_created", "objects", "Objects that were created since the task began.", ""),
        ("uploads_under_way", "objects", "Objects on their way to the store.",
         "where it grows, the store or the way to it is slow."),
        ("rows_already_in_objects", "rows", "Rows that were in an object already when they came again.", ""),
    )),
    ("sinks of Iceberg", (
        ("snapshots_committed", "snapshots", "Snapshots that were committed since the task began.",
         "many small ones make tables slow: flush more rarely, or connect compact."),
        ("rows_already_in_tables", "rows", "Rows that were in a table already when they came again.", ""),
    )),
)  # fmt: skip
"""Holds the part of `TASK_METRICS` that is not of every task."""
