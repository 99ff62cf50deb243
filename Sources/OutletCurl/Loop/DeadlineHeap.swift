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
    /// The deadline beside its entry, so that comparing does not touch the object.
    private struct Slot {
        let deadline: Int64
        let entry: Entry
    }

    private var slots: [Slot] = []

    /// The entry that is due first.
    var first: Entry? { slots.first?.entry }
    /// When that is.
    var firstDeadline: Int64? { slots.first?.deadline }

    /// Puts an entry in, or moves it to its new deadline.
    mutating func set(_ entry: Entry, to deadline: Int64) {
        let old = entry.deadline
        entry.deadline = deadline
        let slot = Slot(deadline: deadline, entry: entry)
        if entry.deadlineIndex < 0 {
            entry.deadlineIndex = slots.count
            slots.append(slot)
            rise(from: entry.deadlineIndex)
        } else {
            slots[entry.deadlineIndex] = slot
            if deadline < old {
                rise(from: entry.deadlineIndex)
            } else {
                sink(from: entry.deadlineIndex)
            }
        }
    }

    /// Takes an entry out; no effect when it is not in.
    mutating func remove(_ entry: Entry) {
        let index = entry.deadlineIndex
        guard index >= 0 else { return }
        entry.deadlineIndex = -1
        let last = slots.removeLast()
        guard index < slots.count else { return }
        place(last, at: index)
        rise(from: index)
        sink(from: last.entry.deadlineIndex)
    }

    private mutating func rise(from start: Int) {
        guard start > 0, slots[start].deadline < slots[(start - 1) / 2].deadline else { return }
        var index = start
        let slot = slots[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard slot.deadline < slots[parent].deadline else { break }
            place(slots[parent], at: index)
            index = parent
        }
        place(slot, at: index)
    }

    private mutating func sink(from start: Int) {
        var index = start
        guard index * 2 + 1 < slots.count else { return }
        let slot = slots[index]
        while true {
            var child = index * 2 + 1
            guard child < slots.count else { break }
            if child + 1 < slots.count, slots[child + 1].deadline < slots[child].deadline {
                child += 1
            }
            guard slots[child].deadline < slot.deadline else { break }
            place(slots[child], at: index)
            index = child
        }
        place(slot, at: index)
    }

    private mutating func place(_ slot: Slot, at index: Int) {
        slots[index] = slot
        slot.entry.deadlineIndex = index
    }
}
