/// Something with a deadline; it remembers its place in the heap, so that leaving is cheap.
protocol DeadlineEntry: AnyObject {
    /// When it is due, µs of the monotonic clock.
    var deadline: Int64 { get set }
    /// Its place in the heap; -1 outside.
    var deadlineIndex: Int { get set }
}

/// The entries of a loop by deadline, the next one first.
///
/// Most requests of a session have the same time limit, so a new entry usually stays where it is
/// put, at the end.
struct DeadlineHeap<Entry: DeadlineEntry> {
    private var entries: [Entry] = []

    /// The entry that is due first.
    var first: Entry? { entries.first }

    /// Puts an entry in, or moves it to its new deadline.
    mutating func set(_ entry: Entry, to deadline: Int64) {
        let old = entry.deadline
        entry.deadline = deadline
        if entry.deadlineIndex < 0 {
            entry.deadlineIndex = entries.count
            entries.append(entry)
            rise(from: entry.deadlineIndex)
        } else if deadline < old {
            rise(from: entry.deadlineIndex)
        } else {
            sink(from: entry.deadlineIndex)
        }
    }

    /// Takes an entry out; no effect when it is not in.
    mutating func remove(_ entry: Entry) {
        let index = entry.deadlineIndex
        guard index >= 0 else { return }
        entry.deadlineIndex = -1
        let last = entries.removeLast()
        guard index < entries.count else { return }
        entries[index] = last
        last.deadlineIndex = index
        rise(from: index)
        sink(from: last.deadlineIndex)
    }

    private mutating func rise(from start: Int) {
        var index = start
        let entry = entries[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard entry.deadline < entries[parent].deadline else { break }
            place(entries[parent], at: index)
            index = parent
        }
        place(entry, at: index)
    }

    private mutating func sink(from start: Int) {
        var index = start
        let entry = entries[index]
        while true {
            var child = index * 2 + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].deadline < entries[child].deadline {
                child += 1
            }
            guard entries[child].deadline < entry.deadline else { break }
            place(entries[child], at: index)
            index = child
        }
        place(entry, at: index)
    }

    private mutating func place(_ entry: Entry, at index: Int) {
        entries[index] = entry
        entry.deadlineIndex = index
    }
}
