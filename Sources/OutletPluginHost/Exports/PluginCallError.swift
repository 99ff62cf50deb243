/// Why an exported function could not be called.
public enum PluginCallError: Error, Sendable, Equatable {
    /// The name is not of the form `plugin-id.function`.
    case malformedName(String)
    /// No plugin with this id is loaded.
    case unknownPlugin(String, known: [String])
    /// The plugin exports no function with this name.
    case unknownFunction(String, plugin: String, known: [String])
    /// The number of arguments is wrong; `declaration` is the function's name and type.
    case wrongCount(declaration: String, given: Int)
    /// An argument is of the wrong type or out of range; `position` counts from 1.
    case wrongType(declaration: String, position: Int, wanted: String, given: String)
    /// The function failed or could not be called, for example because its plugin is closed.
    case failed(PluginError)
}

extension PluginCallError: CustomStringConvertible {
    /// One line: the name, the fault and, where possible, the valid choices.
    public var description: String {
        switch self {
        case .malformedName(let name): "\(name): not of the form PLUGIN-ID.FUNCTION"
        case .unknownPlugin(let id, let known):
            "\(id): no such plugin"
                + (known.isEmpty
                    ? "; none is loaded" : "; there is \(known.joined(separator: ", "))")
        case .unknownFunction(let name, let plugin, let known):
            "\(plugin).\(name): no such function"
                + (known.isEmpty
                    ? "; the plugin exports none" : "; there is \(known.joined(separator: ", "))")
        case .wrongCount(let declaration, let given):
            "\(declaration): called with \(given) argument\(given == 1 ? "" : "s")"
        case .wrongType(let declaration, let position, let wanted, let given):
            "\(declaration): argument \(position) is not \(wanted): \(given)"
        case .failed(let error): error.description
        }
    }
}
