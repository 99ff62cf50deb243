/// Which jobs share one transfer, as a value: no lock, no transfer.
///
/// The first member begins the transfer, the last one to leave ends it, and it waits while all are
/// suspended.
struct SharingMachine<Member: Sendable>: Sendable {
    /// What follows for a job that wants to share.
    enum Joining: Equatable, Sendable {
        /// It is the first: the transfer begins.
        case begins
        /// It shares the transfer that is under way.
        case joins
        /// The transfer is over; the job needs another one.
        case comesTooLate
    }

    private var entries: [(id: UInt64, member: Member)] = []
    /// The ids of those that are suspended.
    private var suspended: Set<UInt64> = []
    private var isBegun = false
    private var isOver = false

    /// The members, in the order in which they joined.
    var members: [Member] { entries.map(\.member) }

    /// Whether the transfer is to wait.
    var allAreSuspended: Bool { !entries.isEmpty && suspended.count == entries.count }

    /// Adds a member, unless the transfer is over.
    mutating func join(_ member: Member, id: UInt64) -> Joining {
        guard !isOver else { return .comesTooLate }
        entries.append((id, member))
        defer { isBegun = true }
        return isBegun ? .joins : .begins
    }

    /// Removes a member.
    ///
    /// - Returns: Whether it was the last one, and the transfer ends; once.
    mutating func leave(_ id: UInt64) -> Bool {
        entries.removeAll { $0.id == id }
        suspended.remove(id)
        guard entries.isEmpty, !isOver else { return false }
        isOver = true
        return true
    }

    /// Suspends or resumes a member; no effect for those that have left.
    mutating func suspend(_ id: UInt64, _ isSuspended: Bool) {
        if isSuspended, entries.contains(where: { $0.id == id }) {
            suspended.insert(id)
        } else {
            suspended.remove(id)
        }
    }

    /// The transfer has ended.
    ///
    /// - Returns: Those that get its result, in the order in which they joined.
    mutating func finish() -> [Member] {
        isOver = true
        defer {
            entries = []
            suspended = []
        }
        return members
    }
}
