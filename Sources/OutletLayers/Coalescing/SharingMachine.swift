/// The state machine of a shared transfer, without lock and transfer.
///
/// The first member starts the transfer, and the last one to leave ends it. The transfer is
/// suspended while all members are suspended.
struct SharingMachine<Member: Sendable>: Sendable {
    /// What a job that wants to join has to do.
    enum Joining: Equatable, Sendable {
        /// Start the transfer, because it is the first job.
        case begins
        /// Share the active transfer.
        case joins
        /// Use another transfer, because this one has ended.
        case hasEnded
    }

    private var entries: [(id: UInt64, member: Member)] = []
    /// The IDs of the suspended members.
    private var suspended: Set<UInt64> = []
    private var isBegun = false
    private var isOver = false

    /// The members, in the order in which they joined.
    var members: [Member] { entries.map(\.member) }

    /// Whether the transfer has to be suspended.
    var allAreSuspended: Bool { !entries.isEmpty && suspended.count == entries.count }

    /// Adds a member, unless the transfer is over.
    mutating func join(_ member: Member, id: UInt64) -> Joining {
        guard !isOver else { return .hasEnded }
        entries.append((id, member))
        defer { isBegun = true }
        return isBegun ? .joins : .begins
    }

    /// Removes a member.
    ///
    /// - Returns: Whether it was the last one, so that the transfer has to be cancelled; true only
    ///   once.
    mutating func leave(_ id: UInt64) -> Bool {
        entries.removeAll { $0.id == id }
        suspended.remove(id)
        guard entries.isEmpty, !isOver else { return false }
        isOver = true
        return true
    }

    /// Suspends or resumes a member; no effect for members that have left.
    mutating func suspend(_ id: UInt64, _ isSuspended: Bool) {
        if isSuspended, entries.contains(where: { $0.id == id }) {
            suspended.insert(id)
        } else {
            suspended.remove(id)
        }
    }

    /// Ends the transfer.
    ///
    /// - Returns: The members that receive its result, in the order in which they joined.
    mutating func finish() -> [Member] {
        isOver = true
        defer {
            entries = []
            suspended = []
        }
        return members
    }
}
