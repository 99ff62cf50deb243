import COutletPlugin
import Glibc
import OutletSession
import OutletTransport

/// The host tables of all plugins: one for each, in memory that plugins can only read.
///
/// The tables lie at fixed distances in one reserved address range. So the address identifies the
/// plugin that received the table, and an address that is not a table is never dereferenced.
/// Tables are never freed, because a thread of a plugin may call the host after the plugin has
/// ended.
enum HostTables {
    /// The distance between two tables, in bytes; at least a table's size, and a divisor of the
    /// page size.
    private static let stride = 512
    private static let capacity = Int(UInt16.max) + 1

    /// The start of the address range; `nil` if it could not be reserved.
    private static let base: UInt? = {
        let range = mmap(
            nil, stride * capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        return range == MAP_FAILED ? nil : UInt(bitPattern: range)
    }()
    /// Locked while a page is writable.
    private static let turn = Lock(())

    /// Makes the table of a plugin.
    ///
    /// - Parameter number: The number of the ``PluginOwner``, from 1.
    /// - Returns: `nil` if the memory could not be reserved or made writable.
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

    /// Returns the number of the ``PluginOwner`` of a table; 0 if the pointer is not a table.
    static func number(of table: UnsafePointer<outlet_host>) -> UInt16 {
        // The header requires a table; a plugin in C can still pass any pointer.
        let address = UInt(bitPattern: table)
        guard let base, address > base, address < base + UInt(stride * capacity),
            (address - base) % UInt(stride) == 0
        else { return 0 }
        return UInt16((address - base) / UInt(stride))
    }
}
