extension PluginOwner {
    /// Writes a line to the log about a text that is not UTF-8, in the plugin's name.
    ///
    /// Plugins rarely check the status of such a call, so that its effect would be lost without a
    /// trace. It is not recorded as a violation, which could suspend the plugin: the text may come
    /// from a server. Does nothing for other texts.
    ///
    /// - Parameters:
    ///   - refused: What is wrong with the text.
    ///   - function: What the plugin called.
    func reportRefusal(_ refused: RefusedText, of function: String) {
        guard case .notUTF8 = refused else { return }
        observer?.pluginDidLog(
            PluginLogLine(
                plugin: id, level: .warning, message: "\(function) was refused: \(refused.fact)"))
    }
}
