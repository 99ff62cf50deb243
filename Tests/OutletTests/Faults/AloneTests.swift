import Testing

/// Tests that need a separate process: they count its resources, or change its state.
///
/// They are serialized, because waiting for a process blocks a thread of Swift's pool, of which
/// there are only as many as processors.
@Suite(.serialized) struct AloneTests {}
