import CPluginCheck
import OutletFiles

/// The resources that this process holds.
struct ProcessHoldings: Equatable {
    /// A kind of resource that a plugin can leak.
    enum Resource: CaseIterable {
        case descriptors
        case threads
        /// Memory of `malloc`.
        case memory
        /// Memory of `mmap`, without that of `malloc` and the stacks of threads that run.
        case mappings
        /// Timers of `timer_create()`.
        case timers

        /// An amount as text.
        func text(_ amount: Int) -> String {
            switch self {
            case .descriptors: "\(amount) file descriptors open"
            case .threads: "\(amount) threads"
            case .memory: "\(amount / 1024) KiB of memory"
            case .mappings: "\(amount / 1024) KiB of mappings"
            case .timers: "\(amount) timers"
            }
        }
    }

    private let amounts: [Resource: Int]

    init(_ holdings: cplugincheck_holdings) {
        amounts = [
            .descriptors: Int(clamping: holdings.descriptors),
            .threads: Int(clamping: holdings.threads),
            .memory: Int(clamping: holdings.allocated), .mappings: Int(clamping: holdings.mapped),
            .timers: Int(clamping: holdings.timers),
        ]
    }

    /// The amount of a resource: a number, or bytes.
    subscript(_ resource: Resource) -> Int { amounts[resource] ?? 0 }
}

/// Measures the resources of this process, also when it cannot open further files.
///
/// Thread: one at a time.
final class HoldingsMeter {
    private var meter = cplugincheck_meter()

    /// Why resources cannot be measured; `nil` if they can.
    let fault: String?

    init() {
        let code = cplugincheck_open_meter(&meter)
        fault = code == 0 ? nil : "cannot read /proc/self: \(systemText(code))"
    }

    deinit { cplugincheck_close_meter(&meter) }

    func measure() -> ProcessHoldings { ProcessHoldings(cplugincheck_measure(&meter)) }
}
