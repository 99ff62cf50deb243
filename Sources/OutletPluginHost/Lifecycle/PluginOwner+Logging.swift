/// The log lines of a plugin, and the host's about its calls, within ``LogLimit``.
extension PluginOwner {
    /// Logs a line, unless the plugin logs too many.
    ///
    /// - Returns: Whether it was logged, or there is no observer.
    @discardableResult
    func log(_ line: PluginLogLine) -> Bool {
        guard let observer else { return true }
        switch admit(line.level, at: Stopwatch.now) {
        case .leftOut(let isFirst):
            if isFirst {
                observer.pluginDidLog(
                    note(
                        line.level,
                        "it logs more than \(LogLimit.maximumCount) lines of this level at once, and "
                            + "\(LogLimit.countPerSecond) a second: lines are left out"))
            }
            return false
        case .logged(let leftOut):
            if leftOut > 0 { observer.pluginDidLog(leftOutNote(line.level, leftOut)) }
            observer.pluginDidLog(line)
            return true
        }
    }

    /// Logs how many lines were left out that no later line has told of; for the end of the plugin.
    func logLeftOut() {
        guard let observer else { return }
        for (level, count) in takeLeftOut() { observer.pluginDidLog(leftOutNote(level, count)) }
    }

    private func leftOutNote(_ level: PluginLogLine.Level, _ count: Int) -> PluginLogLine {
        note(level, "\(count) lines of this level were left out, because it logs too many")
    }

    private func note(_ level: PluginLogLine.Level, _ message: String) -> PluginLogLine {
        PluginLogLine(plugin: id, level: level, message: message, facts: [])
    }
}
