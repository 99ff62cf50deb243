import CPluginLoad

/// The name of a signal, such as `SIGSEGV`; `signal 40` for one without a name.
package func signalName(_ number: Int32) -> String {
    cpluginload_signal_name(number).map { "SIG\(String(cString: $0))" } ?? "signal \(number)"
}
