/// Generates completion scripts for shells from the option table and the verbs.
enum Completions {
    /// The script for bash 4 and later, to install as `bash-completion/completions/outlet`.
    ///
    /// File names are left to readline (`-o default`), which quotes them. Only those behind `@`, which
    /// it takes for host names, are listed and quoted here.
    static var bash: String {
        var cases = ""
        for option in OptionTable.all where option.value != nil {
            let names = (["--\(option.long)"] + (option.short.map { ["-\($0)"] } ?? []))
                .joined(separator: "|")
            let words =
                option.choices.isEmpty
                ? ""
                : "mapfile -t COMPREPLY < <(compgen -W '\(option.choices.joined(separator: " "))' "
                    + "-- \"$word\"); "
            cases += "        \(names)) \(words)return ;;\n"
        }
        let options = OptionTable.all.flatMap { option in
            ["--\(option.long)"] + (option.isOnByDefault ? ["--no-\(option.long)"] : [])
        }
        return """
            # Completions of outlet for bash; made by 'outlet --generate bash'.
            _outlet() {
                local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at= file
                local line=${COMP_LINE:0:COMP_POINT}
                COMPREPLY=()
                # '=' and '@' are words of their own.
                if [[ $word == *@ && $line == *@ ]]; then
                    at=@ word=
                elif [[ $before == *@ && $line == *@"$word" ]]; then
                    at=@
                elif [[ $word == '=' ]]; then
                    word=
                elif [[ $before == '=' ]] && ((COMP_CWORD > 1)); then
                    before=${COMP_WORDS[COMP_CWORD-2]}
                fi
                case $before in
            \(cases)        plugins) mapfile -t COMPREPLY < <(compgen -W '\(second("plugins"))' -- "$word"); return ;;
                esac
                if [[ $word == -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -W '\(options.joined(separator: " "))' -- "$word")
                elif ((COMP_CWORD == 1)); then
                    mapfile -t COMPREPLY < <(compgen -W '\(firstWords.joined(separator: " "))' -- "$word")
                elif [[ $at ]]; then
                    while IFS= read -r file; do
                        # A part of a name with a line break.
                        [[ -e $file || -L $file ]] || continue
                        if [[ -d $file ]]; then compopt -o nospace; file+=/; fi
                        printf -v file '@%q' "$file"
                        COMPREPLY+=("$file")
                    done < <(compgen -f -- "$word")
                fi
            }
            complete -o default -F _outlet outlet

            """
    }

    /// The script for zsh, to install as `_outlet` in a directory of `$fpath`.
    static var zsh: String {
        var lines: [String] = []
        for option in OptionTable.all {
            let names = ["--\(option.long)"] + (option.short.map { ["-\($0)"] } ?? [])
            // '=' allows both `--name value` and `--name=value`, '+' both `-n value` and `-nvalue`.
            let forms =
                option.value == nil
                ? names : names.map { $0 + ($0.utf8.starts(with: "--".utf8) ? "=" : "+") }
            let opposite = option.isOnByDefault ? ["--no-\(option.long)"] : []
            let exclusion =
                option.repeats ? "'*'" : "'(\((names + opposite).joined(separator: " ")))'"
            let form = forms.count > 1 ? "{\(forms.joined(separator: ","))}" : forms[0]
            lines.append("    \(exclusion)\(form)\(zshDescription(of: option))")
            for name in opposite {
                lines.append("    \(exclusion)\(name)'[The opposite of --\(option.long)]'")
            }
        }
        return """
            #compdef outlet
            # Completions of outlet for zsh; made by 'outlet --generate zsh'.
            _outlet_item() {
                compset -P '*@'
                _files
            }
            _outlet_second() {
                case $line[1] in
                plugins) _values verb \(second("plugins")) ;;
                *) _outlet_item ;;
                esac
            }
            local -a line
            _arguments -s -S \\
            \(lines.joined(separator: " \\\n")) \\
                '1: :(\(firstWords.joined(separator: " ")))' \\
                '2: :_outlet_second' \\
                '*: :_outlet_item'

            """
    }

    /// The script for fish, to install as `fish/vendor_completions.d/outlet.fish`.
    static var fish: String {
        var text = """
            # Completions of outlet for fish; made by 'outlet --generate fish'.
            function __outlet_files
                # Files behind '@'; fish completes only those that are words of their own.
                set -l before (commandline -ct | string match -r '^(?:[^@]*[=:])?@'); or return
                set -l file (commandline -ct | string replace -- $before '')
                set -l found $file*
                for file in $found
                    test -d $file; and set file $file/
                    printf '%s\\n' $before$file
                end
            end
            complete -c outlet -a '(__outlet_files)'
            complete -c outlet -n __fish_is_first_token -a '\(firstWords.joined(separator: " "))'
            set -l verbs \(second("plugins"))
            complete -c outlet -f -a "$verbs" \\
                -n "__fish_seen_subcommand_from plugins; and not __fish_seen_subcommand_from $verbs"

            """
        for option in OptionTable.all {
            text += "complete -c outlet -l \(option.long)"
            if let short = option.short { text += " -s \(short)" }
            if option.value != nil { text += " -r" }
            if !option.choices.isEmpty {
                text += " -f -a '\(option.choices.joined(separator: " "))'"
            }
            text += " -d '\(quoted(option.summary))'\n"
            if option.isOnByDefault {
                text += "complete -c outlet -l no-\(option.long)"
                text += " -d 'The opposite of --\(option.long)'\n"
            }
        }
        return text
    }

    private static func zshDescription(of option: Option) -> String {
        let summary = option.summary.filter { !"[]:".contains($0) }  // text: ours
        var text = "[\(summary)]"
        if let value = option.value {
            let name = value.filter { !":".contains($0) }  // text: ours
            let action =
                option.choices.isEmpty ? "_files" : "(\(option.choices.joined(separator: " ")))"
            text += ":\(name):\(action)"
        }
        return "'\(quoted(text))'"
    }

    /// Escapes a text for use inside single quotes of a shell.
    private static func quoted(_ text: String) -> String {
        text.replacing("'", with: "'\\''")  // text: ours
    }

    private static var firstWords: [String] {
        var seen: Set<String> = []
        return Verb.allCases.compactMap(\.words.first).filter { seen.insert($0).inserted }
    }

    private static func second(_ first: String) -> String {
        Verb.allCases.filter { $0.words.first == first }
            .compactMap { $0.words.dropFirst().first }.joined(separator: " ")
    }
}
