import COutletPlugin
import Glibc
import OutletSession
import OutletTransport

/// The host tables of all instances: one each, in memory that plugins can only read.
///
/// Tables lie at fixed distances in one reserved range, so that an address says which instance was given
/// it, and one that is no table is never followed. They stay for good: a plugin's thread may call late.
enum HostTables {
    /// The bytes from one table to the next; the table fits, and whole tables fill a page.
    private static let stride = 512
    private static let capacity = Int(UInt16.max) + 1

    /// The start of the range, where reserving it went well.
    private static let base: UInt? = {
        let range = mmap(
            nil, stride * capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        return range == MAP_FAILED ? nil : UInt(bitPattern: range)
    }()
    /// Held while a page is writable.
    private static let turn = Lock(())

    /// Makes the table of an instance.
    ///
    /// - Parameter number: The owner's, from 1.
    /// - Returns: `nil` when there is no memory for it.
    static func make(number: UInt16) -> UnsafePointer<outlet_host>? {
        guard let base, number > 0, MemoryLayout<outlet_host>.size <= stride else { return nil }
        let address = base + UInt(number) * UInt(stride)
        let size = UInt(getpagesize())
        let page = UnsafeMutableRawPointer(bitPattern: address & ~(size - 1))
        return turn.withLock { _ -> UnsafePointer<outlet_host>? in
            guard mprotect(page, Int(size), PROT_READ | PROT_WRITE) == 0,
                let place = UnsafeMutablePointer<outlet_host>(bitPattern: address)
            else { return nil }
            place.initialize(to: HostTable.functions)
            guard mprotect(page, Int(size), PROT_READ) == 0 else { return nil }
            return UnsafePointer(place)
        }
    }

    /// The number of the owner of a table; 0 if the pointer is no table.
    static func number(of table: UnsafePointer<outlet_host>) -> UInt16 {
        // The header promises a table; a plugin in C can still pass anything.
        let address = UInt(bitPattern: table)
        guard let base, address > base, address < base + UInt(stride * capacity),
            (address - base) % UInt(stride) == 0
        else { return 0 }
        return UInt16((address - base) / UInt(stride))
    }
}
