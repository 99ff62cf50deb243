import COutletPlugin

/// The service `outlet.timer/1`: calls a function of the plugin after a delay.
enum TimerService {
    static let name = "outlet.timer/1"

    /// The table that all plugins share; `nil` if there is no memory for it.
    // `nonisolated(unsafe)` because it is written once, before any read, and never freed.
    nonisolated(unsafe) static let table = ReadOnlyMemory.copy(
        outlet_timers(
            struct_size: UInt32(MemoryLayout<outlet_timers>.size), reserved: 0,
            start: { TimerService.start($0, $1, $2, $3, $4) },
            cancel: { TimerService.cancel($0, $1) }))

    private typealias Call = ServiceCall<outlet_status>

    private static func start(
        _ host: HostTable.Table, _ delay: UInt64, _ done: outlet_timer_done,
        _ data: UnsafeMutableRawPointer?, _ out: UnsafeMutablePointer<outlet_timer>
    ) -> outlet_status {
        guard UInt(bitPattern: out) != 0, !isNull(done) else {
            return HostTable.refuse(
                host, "start", .missing(name: isNull(done) ? "done" : "place for the result"))
        }
        guard HostTable.serving(host, "start") != nil else { return OUTLET_E_STALE }
        guard let instance = HostTable.instance(host) else { return OUTLET_E_STATE }
        let data = UInt(bitPattern: data)
        let call = Call(
            of: instance, .timerDone, name: "a timer", origin: CurrentCall.origin
        ) { pointer, call, status, _ in
            done(pointer, call, status, UnsafeMutableRawPointer(bitPattern: data))
        }
        guard
            let id = try? call.begin(
                limit: Int(OUTLET_MAX_TIMERS), closed: { OUTLET_E_CANCELLED })
        else { return OUTLET_E_STATE }
        out.pointee = outlet_timer(id: id)
        let timer = DeadlineTimer(delay) { call.end(OUTLET_OK) }
        call.stops { timer.cancel() }
        return OUTLET_OK
    }

    private static func cancel(_ host: HostTable.Table, _ timer: outlet_timer) -> outlet_status {
        guard let call = HostTable.findOwn(host, timer.id, Call.self) else { return OUTLET_E_STALE }
        call.cancel(with: OUTLET_E_CANCELLED)
        return OUTLET_OK
    }
}
