import OutletSession
import OutletTransport

/// Maps the handles that plugins hold to objects.
///
/// An id consists of an owner, a generation, a slot and a part (16, 24, 22 and 2 bits). An id of an
/// earlier generation of its slot finds nothing. A found object is retained while it is used. Part
/// 0 is the object itself; the other parts are the objects passed to a hook together with its
/// completion. There is one table for the process, because the host's C functions receive only an
/// id.
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
    /// The bits of an id that hold the part.
    static let partMask: UInt64 = 3

    /// Assigns a number to an owner, for its host table and its ids.
    ///
    /// - Returns: The number from 1 on; 0 when all 65,535 have been used.
    func number(_ owner: PluginOwner) -> UInt16 {
        storage.withLock { storage in
            guard storage.owners.count < Int(UInt16.max) else { return 0 }
            storage.owners.append(owner)
            return UInt16(storage.owners.count)
        }
    }

    /// All owners since the process started.
    var allOwners: [PluginOwner] { storage.withLock { $0.owners } }

    /// Retains an object and makes an id for it.
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

    /// The object of an id; `nil` if the id has ended or the object is of another type.
    func find<Object: AnyObject & Sendable>(_ id: UInt64, as type: Object.Type) -> Object? {
        lookUp(id, as: type)?.object
    }

    /// The object of an id, and the call that it is or was passed to.
    ///
    /// - Returns: `nil` if the id has ended or the object is of another type.
    func lookUp<Object: AnyObject & Sendable>(
        _ id: UInt64, as type: Object.Type
    ) -> (object: Object, call: CallContext?)? {
        let object = storage.withLock { storage -> (any AnyObject & Sendable)? in
            guard let slot = HandleTable.slot(of: id, in: storage) else { return nil }
            return storage.slots[slot].object
        }
        guard let object else { return nil }
        let part = id & HandleTable.partMask
        guard part > 0 else {
            return (object as? Object).map { ($0, object as? CallContext) }
        }
        guard let completion = object as? Completion,
            let subject = completion.subject(UInt8(part)) as? Object
        else { return nil }
        return (subject, completion)
    }

    /// Whether an id has not ended.
    func isLive(_ id: UInt64) -> Bool {
        storage.withLock { storage in
            HandleTable.slot(of: id, in: storage).map { storage.slots[$0].object != nil } ?? false
        }
    }

    /// Ends an id and releases its object.
    func remove(_ id: UInt64) {
        // Released after unlocking: freeing an object may take a while.
        let object = storage.withLock { storage -> (any AnyObject & Sendable)? in
            guard let slot = HandleTable.slot(of: id, in: storage) else { return nil }
            let object = storage.slots[slot].object
            storage.slots[slot].object = nil
            storage.slots[slot].generation += 1
            // A slot whose generations are used up is never used again.
            if storage.slots[slot].generation < HandleTable.generations {
                storage.free.append(UInt32(slot))
            }
            return object
        }
        withExtendedLifetime(object) {}
    }

    /// The owner with a number; `nil` for a number not assigned.
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
