import OutletHTTP
import OutletTransport

extension Flight {
    /// Who shares, and where the transfer stands.
    struct State: Sendable {
        var leader: Member?
        var followers: [Member] = []
        /// The leader's transfer under way.
        var transfer: (any TransferTask)?
        /// Whether a transfer is under way, known here or not yet.
        var isTransferring = false
        /// Whether the server that the last head came from was verified.
        var isServerVerified = true
        /// Counts the transfers.
        var generation = 0
        /// Whether the transfer is being cancelled, or will be once it is known: it is nobody else's.
        var isCancelWanted = false
        var isSuspended = false
        var wantsProgress = false
        /// What the leader came to, kept for those who are suspended.
        var outcome: Outcome?
        var isOver = false
    }

    /// What a request's leaving asks for.
    enum Departure {
        case nothing
        /// The last one is gone.
        case cancel(any TransferTask)
        /// The next one needs a transfer of its own.
        case start(Member)
    }
}

extension Flight.State {
    /// Makes a request the leader, which begins a transfer now.
    mutating func lead(_ member: Flight.Member) {
        leader = member
        generation += 1
        isTransferring = true
        isCancelWanted = false
        isSuspended = member.isSuspended
    }

    /// Whether the transfer under way is one that all have suspended, for somebody to go on with.
    var waitsForResume: Bool { isTransferring && isSuspended && !isCancelWanted }

    /// Makes a request the leader; of the transfer under way, if there is one.
    mutating func hand(to member: Flight.Member) -> Flight.Departure {
        guard !isTransferring else {
            leader = member
            return .nothing
        }
        lead(member)
        return .start(member)
    }

    /// Takes the follower out that is to lead next; one that is not suspended, if there is one.
    mutating func takeNext() -> Flight.Member? {
        let index = followers.firstIndex { !$0.isSuspended } ?? followers.indices.first
        return index.map { followers.remove(at: $0) }
    }
}
