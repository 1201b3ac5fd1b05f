"""Defines the contract: everything a plug-in may import, and nothing that needs Kafka, a driver or a running worker.

Import from the modules, which are named by their noun: `connect.api.records`, `schema`, `arrow`, `config`, `connector`,
`codec`, `transform`, `plugin`, `errors`, `deadline`. All of them are cheap to import; Arrow is loaded when first used.
"""
