import Glibc
import OutletSession
import OutletTransport

/// Maps the handles that plugins hold to objects.
///
/// An id consists of an owner, a generation, a slot and a part (16, 24, 22 and 2 bits). An id of an
/// earlier generation of its slot finds nothing. A found object is retained while it is used. There
/// is one table for the process, because the host's C functions receive only an id.
///
/// The ids of completions have the highest bit of the generation set, and a number of 45 bits in
/// place of generation and slot. They have no slot, because each hook needs one: the owner finds
/// its running calls, and the instance those whose answer is pending. Part 0 is the completion; the
/// other parts are the objects passed to its hook.
///
/// Thread: any.
final class HandleTable: Sendable {
    static let shared = HandleTable()

    private struct Slot {
        var generation: UInt32 = 1
        var object: (any AnyObject & Sendable)?
        /// The thread that inserted the object (`pthread_self`).
        var thread: UInt = 0
        /// The call that the object was passed to; `nil` if the object is not of one.
        var call: CallContext?
    }

    private struct Storage {
        var slots: [Slot] = []
        var free: [UInt32] = []
        var owners: [PluginOwner] = []
    }

    private let storage = Lock(Storage())
    private static let generations: UInt32 = 1 << 23
    private static let completionBit: UInt64 = 1 << 47
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

    /// The id of a completion.
    ///
    /// - Parameters:
    ///   - number: The number of the completion; each is used once for an owner.
    ///   - owner: The number of the owner.
    static func completionID(_ number: UInt64, owner: UInt16) -> UInt64 {
        UInt64(owner) << 48 | completionBit | number << 2 & (completionBit - 1)
    }

    /// The completion of an id with any part; `nil` if the id has ended or is of something else.
    func completion(of id: UInt64) -> Completion? {
        guard id & Self.completionBit != 0 else { return nil }
        return owner(numbered: UInt16(id >> 48))?.completion(of: id & ~Self.partMask)
    }

    /// Retains an object and makes an id for it.
    ///
    /// Plugins can use the object in a call only on the current thread, which therefore must be the
    /// one that calls the plugin.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - owner: The number of the owner.
    ///   - call: The call that the object is passed to; `nil` for none.
    func insert(
        _ object: any AnyObject & Sendable, owner: UInt16, in call: CallContext? = nil
    ) -> UInt64 {
        let thread = UInt(pthread_self())
        return storage.withLock { storage in
            let slot: UInt32
            if let free = storage.free.popLast() {
                slot = free
            } else {
                slot = UInt32(storage.slots.count)
                storage.slots.append(Slot())
            }
            storage.slots[Int(slot)].object = object
            storage.slots[Int(slot)].thread = thread
            storage.slots[Int(slot)].call = call
            let generation = storage.slots[Int(slot)].generation
            return UInt64(owner) << 48 | UInt64(generation) << 24 | UInt64(slot) << 2
        }
    }

    /// The object of an id, with the object that a completion's id stands for with its part.
    ///
    /// - Returns: `nil` if the id has ended or the object is of another type.
    func find<Object: AnyObject & Sendable>(_ id: UInt64, as type: Object.Type) -> Object? {
        guard let completion = completion(of: id) else { return object(of: id) as? Object }
        return completion.object(HandleTable.part(of: id)) as? Object
    }

    /// The object of an id that is not a completion's; `nil` if the id has ended.
    func object(of id: UInt64) -> (any AnyObject & Sendable)? { entry(of: id)?.object }

    /// The object of an id that is not a completion's, and the only thread that may use it in a
    /// call; `nil` if the id has ended.
    func entry(of id: UInt64) -> (object: any AnyObject & Sendable, thread: UInt)? {
        storage.withLock { storage in
            let slot = HandleTable.slot(of: id)
            guard slot < storage.slots.count, id & HandleTable.partMask == 0,
                storage.slots[slot].generation == HandleTable.generation(of: id),
                let object = storage.slots[slot].object
            else { return nil }
            return (object, storage.slots[slot].thread)
        }
    }

    /// The call that the object of an id was passed to, as a completion or as ``insert(_:owner:in:)``
    /// says; `nil` for none, and if the id has ended.
    func call(of id: UInt64) -> CallContext? {
        if let completion = completion(of: id) { return completion }
        return storage.withLock { storage in
            let slot = HandleTable.slot(of: id)
            guard id != 0, slot < storage.slots.count,
                storage.slots[slot].generation == HandleTable.generation(of: id)
            else { return nil }
            return storage.slots[slot].call
        }
    }

    /// The part of a completion's id; `nil` for the completion itself.
    static func part(of id: UInt64) -> UInt8? {
        let part = UInt8(truncatingIfNeeded: id & partMask)
        return part > 0 ? part : nil
    }

    /// Whether an id has not ended.
    func isLive(_ id: UInt64) -> Bool { object(of: id) != nil || completion(of: id) != nil }

    /// Ends an id and releases its object.
    func remove(_ id: UInt64) {
        // Released after unlocking: freeing an object may take a while.
        let released = storage.withLock {
            storage -> (object: (any AnyObject & Sendable)?, call: CallContext?)? in
            let slot = HandleTable.slot(of: id)
            guard slot < storage.slots.count,
                storage.slots[slot].generation == HandleTable.generation(of: id)
            else { return nil }
            let released = (storage.slots[slot].object.take(), storage.slots[slot].call.take())
            storage.slots[slot].generation += 1
            // A slot whose generations are used up is never used again.
            if storage.slots[slot].generation < HandleTable.generations {
                storage.free.append(UInt32(slot))
            }
            return released
        }
        withExtendedLifetime(released) {}
    }

    /// The owner with a number; `nil` for a number not assigned.
    func owner(numbered number: UInt16) -> PluginOwner? {
        storage.withLock { storage in
            guard number > 0, number <= storage.owners.count else { return nil }
            return storage.owners[Int(number) - 1]
        }
    }

    private static func slot(of id: UInt64) -> Int { Int(id & 0xFF_FFFF) >> 2 }

    private static func generation(of id: UInt64) -> UInt32 { UInt32(id >> 24 & 0xFF_FFFF) }
}
