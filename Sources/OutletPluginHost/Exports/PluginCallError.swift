public import FoundationEssentials

/// Why an exported function could not be called.
public enum PluginCallError: Error, Sendable, Equatable {
    /// The name is not of the form `plugin-id.function`.
    case malformedName(String)
    /// The name is that of a plugin; `known` are the functions that it exports.
    case missingFunction(plugin: String, known: [String])
    /// No plugin with this id is loaded.
    case unknownPlugin(String, known: [String])
    /// The plugin exports no function with this name.
    case unknownFunction(String, plugin: String, known: [String])
    /// The number of arguments is wrong; `declaration` is the function's name and type.
    case wrongCount(declaration: String, given: Int)
    /// An argument is of the wrong type or out of range; `position` counts from 1.
    case wrongType(declaration: String, position: Int, wanted: String, given: String)
    /// An argument of a kind that a text cannot be, a request or a function, was given as a text;
    /// `position` counts from 1.
    case notAText(declaration: String, position: Int, wanted: String)
    /// The function failed or could not be called, for example because its plugin is closed.
    case failed(PluginError)
}

extension PluginCallError: CustomStringConvertible, LocalizedError {
    /// One line: the name, the fault and, where possible, the valid choices.
    public var description: String {
        switch self {
        case .malformedName(let name): "\(name): not of the form PLUGIN-ID.FUNCTION"
        case .missingFunction(let plugin, let known):
            "\(plugin): no function given"
                + (known.isEmpty
                    ? "; the plugin exports none" : "; there is \(known.joined(separator: ", "))")
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
        case .notAText(let declaration, let position, let wanted):
            "\(declaration): argument \(position) is a \(wanted), which cannot be given as a text; "
                + "only a program that embeds Outlet can call it"
        case .failed(let error): error.description
        }
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
