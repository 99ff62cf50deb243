import Testing

/// Tests that need a process of their own: they count what it holds, or change what is its own.
///
/// One after the other, because waiting for such a process takes a thread of Swift's pool, of which
/// there are no more than processors.
@Suite(.serialized) struct AloneTests {}
