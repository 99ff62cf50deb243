import OutletSession
import OutletTransport

/// The ids that plugins hold, and what they stand for.
///
/// An id is an owner, a generation, a slot and a part (16, 24, 22 and 2 bits). An id whose slot went on to
/// another generation finds nothing; one that finds something keeps it alive while it is used. Part 0 is the
/// object itself, the others are what a hook is given beside its completion.
/// One table serves the process, because the host's C functions are told nothing but an id.
///
/// Thread: any.
final class HandleTable: Sendable {
    static let shared = HandleTable()

    private struct Slot {
        var generation: UInt32 = 1
        var object: (any AnyObject & Sendable)?
    }

    private struct Storage {
        var slots: [Slot] = []
        var free: [UInt32] = []
        var owners: [PluginOwner] = []
    }

    private let storage = Lock(Storage())
    private static let generations: UInt32 = 1 << 24
    /// The bits of an id that say which part is meant.
    static let partMask: UInt64 = 3

    /// Numbers an owner, for its table and its ids.
    ///
    /// - Returns: 0 when there have been more than 65,535.
    func number(_ owner: PluginOwner) -> UInt16 {
        storage.withLock { storage in
            guard storage.owners.count < Int(UInt16.max) else { return 0 }
            storage.owners.append(owner)
            return UInt16(storage.owners.count)
        }
    }

    /// All owners there have been.
    var allOwners: [PluginOwner] { storage.withLock { $0.owners } }

    /// Makes an id for an object.
    func insert(_ object: any AnyObject & Sendable, owner: UInt16) -> UInt64 {
        storage.withLock { storage in
            let slot: UInt32
            if let free = storage.free.popLast() {
                slot = free
            } else {
                slot = UInt32(storage.slots.count)
                storage.slots.append(Slot())
            }
            storage.slots[Int(slot)].object = object
            let generation = storage.slots[Int(slot)].generation
            return UInt64(owner) << 48 | UInt64(generation) << 24 | UInt64(slot) << 2
        }
    }

    /// The object of an id, if it is live and of that type.
    func find<Object: AnyObject & Sendable>(_ id: UInt64, as type: Object.Type) -> Object? {
        let object = storage.withLock { storage -> (any AnyObject & Sendable)? in
            guard let slot = HandleTable.slot(of: id, in: storage) else { return nil }
            return storage.slots[slot].object
        }
        guard let object else { return nil }
        let part = id & HandleTable.partMask
        guard part > 0 else { return object as? Object }
        return (object as? Completion)?.subject(UInt8(part)) as? Object
    }

    /// Whether an id stands for something.
    func isLive(_ id: UInt64) -> Bool {
        storage.withLock { storage in
            HandleTable.slot(of: id, in: storage).map { storage.slots[$0].object != nil } ?? false
        }
    }

    /// Ends an id.
    func remove(_ id: UInt64) {
        // Released behind the lock: freeing an object may take a while.
        let object = storage.withLock { storage -> (any AnyObject & Sendable)? in
            guard let slot = HandleTable.slot(of: id, in: storage) else { return nil }
            let object = storage.slots[slot].object
            storage.slots[slot].object = nil
            storage.slots[slot].generation += 1
            // A slot that has used up its generations is left out rather than begun anew.
            if storage.slots[slot].generation < HandleTable.generations {
                storage.free.append(UInt32(slot))
            }
            return object
        }
        withExtendedLifetime(object) {}
    }

    /// The owner of a number.
    func owner(numbered number: UInt16) -> PluginOwner? {
        storage.withLock { storage in
            guard number > 0, number <= storage.owners.count else { return nil }
            return storage.owners[Int(number) - 1]
        }
    }

    private static func slot(of id: UInt64, in storage: Storage) -> Int? {
        let slot = Int(id & 0xFF_FFFF) >> 2
        guard slot < storage.slots.count,
            UInt64(storage.slots[slot].generation) == id >> 24 & 0xFF_FFFF
        else { return nil }
        return slot
    }
}
