/// An object with a deadline, which stores its index in the heap so that it can be removed quickly.
protocol DeadlineEntry: AnyObject {
    /// The deadline in µs of the monotonic clock.
    var deadline: Int64 { get set }
    /// Its index in the heap; -1 if it is not in a heap.
    var deadlineIndex: Int { get set }
}

/// A binary heap of entries, the earliest deadline first.
///
/// Most requests of a session have the same time limit, so a new entry usually stays at the end,
/// where it is inserted.
struct DeadlineHeap<Entry: DeadlineEntry> {
    /// The deadline is stored beside its entry, so that comparisons do not access the object.
    private struct Slot {
        let deadline: Int64
        let entry: Entry
    }

    private var slots: [Slot] = []

    /// The entry with the earliest deadline.
    var first: Entry? { slots.first?.entry }
    /// The earliest deadline in µs; `nil` if there are no entries.
    var firstDeadline: Int64? { slots.first?.deadline }

    /// Inserts an entry, or moves it to its new deadline.
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

    /// Removes an entry; no effect if it is not in the heap.
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
