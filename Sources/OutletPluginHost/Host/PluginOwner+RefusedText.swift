import COutletPlugin

/// Log lines in the plugin's name about what the host refuses.
///
/// Plugins rarely check the status of such a call, so that its effect would be lost without a
/// trace. It is not recorded as a violation, which could suspend the plugin: the text may come from
/// a server.
extension PluginOwner {
    /// Logs that an argument of a function of the host was refused.
    ///
    /// - Parameters:
    ///   - refused: What is wrong with the argument.
    ///   - function: What the plugin called.
    ///   - handle: The handle that was passed to it; 0 for none.
    func reportRefusal(_ refused: RefusedText, of function: String, _ handle: UInt64 = 0) {
        report(
            function, refused.fact, handle, refused,
            isChange: RequestChange(rawValue: function) != nil)
    }

    /// Logs that a change of a request or a response was refused.
    ///
    /// - Parameters:
    ///   - status: The status that the plugin receives.
    ///   - change: What the plugin called.
    ///   - handle: The handle of the request or response.
    ///   - name: The name of the header field; `nil` for other parts. Of a long name, the first 64
    ///     bytes are logged.
    ///   - fault: What is wrong with the arguments (`OUTLET_E_ARGUMENT`).
    ///   - obstacle: What prevents the change (`OUTLET_E_STATE`); `nil` for the hook.
    func reportRefusal(
        _ status: outlet_status, of change: RequestChange, _ handle: UInt64,
        _ name: UnsafeBufferPointer<UInt8>? = nil, fault: () -> String? = { nil },
        obstacle: () -> String? = { nil }
    ) {
        let subject = name.map { " of '\(String(decoding: $0.prefix(64), as: UTF8.self))'" } ?? ""
        let reason: String? =
            switch status {
            case OUTLET_E_ARGUMENT: fault()
            case OUTLET_E_DENIED: "the host sets that itself"
            case OUTLET_E_STATE: obstacle() ?? "not in this hook"
            default: nil
            }
        report(
            change.rawValue + subject, reason ?? "it failed with \(status)", handle,
            isChange: true)
    }

    /// Logs that a request which a plugin wants to send was refused.
    ///
    /// - Parameters:
    ///   - reason: Why, with the part of the request that is wrong.
    ///   - refused: What is wrong with a text of it; `nil` for other reasons.
    ///   - call: The call that the request is sent for; empty for none.
    func reportUnsent(_ reason: String, _ refused: RefusedText? = nil, in call: outlet_call) {
        report("send", reason, call.id, refused, isChange: false)
    }

    /// Logs that the plugin does not get a service.
    func reportMissingService(_ level: PluginLogLine.Level, _ reason: String) {
        log(
            PluginLogLine(
                plugin: id, level: level, message: "extension was refused: \(reason)", facts: []))
    }

    private func report(
        _ function: String, _ reason: String, _ handle: UInt64, _ refused: RefusedText? = nil,
        isChange: Bool
    ) {
        let call = completion(of: handle & ~HandleTable.partMask)
        // Handles of other plugins do not belong to the call of this one.
        if isChange, UInt16(handle >> 48) == number {
            HandleTable.shared.call(of: handle)?.noteRefusal("\(function): \(reason)")
        }
        let subject = call?.subjectName.map { " of \($0)" } ?? ""
        let place = call.map { ", in \($0.hook.rawValue)\(subject)" } ?? ""
        log(
            PluginLogLine(
                plugin: id, level: .warning,
                message: "\(function) was refused: \(reason)\(place)", refused: refused,
                isOfChange: isChange))
    }
}
