"""Defines the contract between the framework and plug-ins: all that a plug-in may import. Nothing here needs Kafka, a
driver or a running worker.

Import from the modules, which are named by their noun: `connect.api.records`, `schema`, `arrow`, `config`, `connector`,
`codec`, `transform`, `plugin`, `errors`, `deadline`. All of them are cheap to import; Arrow is loaded when first used.
"""
