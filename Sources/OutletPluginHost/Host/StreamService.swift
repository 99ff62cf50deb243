import COutletPlugin
import OutletHTTP

/// The service `outlet.stream/1`: lets plugins watch and make bodies piece by piece.
enum StreamService {
    static let name = "outlet.stream/1"

    /// The table that all plugins share; `nil` if there is no memory for it.
    // `nonisolated(unsafe)` because it is written once, before any read, and never freed.
    nonisolated(unsafe) static let table = ReadOnlyMemory.copy(
        outlet_streams(
            struct_size: UInt32(MemoryLayout<outlet_streams>.size), reserved: 0,
            watch_response: { StreamService.watch($0, $1, $2, $3, $4) },
            send_body: { StreamService.send($0, $1, $2, $3, $4, $5) }))

    private static func watch(
        _ host: HostTable.Table, _ request: outlet_request, _ piece: outlet_stream_piece,
        _ end: outlet_stream_end?, _ data: UnsafeMutableRawPointer?
    ) -> outlet_status {
        guard !isNull(piece) else {
            return refuse(.missing(name: "piece"), of: .watch, host, request)
        }
        let data = UInt(bitPattern: data)
        return open(host, request, replacesBody: false, end, data) { request, stream, limit in
            let body = WatchedBody(stream, limit: limit) {
                piece($0, $1, $2, $3, $4, $5, UnsafeMutableRawPointer(bitPattern: data))
            }
            request.watchedBodies.append(body)
            request.context.needsOwnTransfer = true
        }
    }

    private static func send(
        _ host: HostTable.Table, _ request: outlet_request, _ length: UInt64,
        _ make: outlet_stream_make, _ end: outlet_stream_end?, _ data: UnsafeMutableRawPointer?
    ) -> outlet_status {
        guard !isNull(make) else {
            return refuse(.missing(name: "make"), of: .sendBody, host, request)
        }
        guard length == .max || length <= UInt64(Int64.max) else {
            return refuse(
                .unknown(name: "length", value: length), of: .sendBody, host, request)
        }
        let data = UInt(bitPattern: data)
        return open(host, request, replacesBody: true, end, data) { request, stream, limit in
            let length = length == .max ? nil : Int64(length)
            let body = PluginBody(stream, length: length, limit: limit) {
                make($0, $1, $2, $3, $4, UnsafeMutableRawPointer(bitPattern: data))
            }
            request.body = .stream(body)
        }
    }

    /// Logs that an argument was refused, and returns the status.
    private static func refuse(
        _ refused: RefusedText, of change: RequestChange, _ host: HostTable.Table,
        _ request: outlet_request
    ) -> outlet_status {
        HostTable.owner(host)?.reportRefusal(refused, of: change.rawValue, request.id)
        return OUTLET_E_ARGUMENT
    }

    /// Opens a stream and attaches it to a request.
    private static func open(
        _ host: HostTable.Table, _ request: outlet_request, replacesBody: Bool,
        _ end: outlet_stream_end?, _ data: UInt,
        _ attach: (inout HTTPRequest, PluginStream, _ limit: UInt64) -> Void
    ) -> outlet_status {
        var refusal: ServiceObstacle?
        let obstacle = { () -> String? in
            switch refusal {
            case nil: nil
            case .isFull: "it has \(OUTLET_MAX_STREAMS) open streams, the most that are allowed"
            case .isEnding: "it is being shut down"
            }
        }
        return HostTable.apply(
            host, request, replacesBody ? .sendBody : .watch, obstacle: obstacle
        ) { handle in
            guard let instance = HostTable.instance(host),
                let hook = HandleTable.shared.completion(of: request.id)
            else { return OUTLET_E_STATE }
            let origin = handle.origin
            return handle.attach(
                replacesBody: replacesBody,
                open: { name in
                    do throws(ServiceObstacle) {
                        return try PluginStream.open(for: instance, name: name, origin: origin) {
                            end?($0, $1, $2, UnsafeMutableRawPointer(bitPattern: data))
                        }
                    } catch {
                        refusal = error
                        return nil
                    }
                },
                to: { attach(&$0, $1, hook.limit) })
        }
    }
}
