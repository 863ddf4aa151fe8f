#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/check_formats.h"
#include "gputopo/catalogue.h"
#include "report/export/shell_text.h"
#include "report/export/value_path.h"

namespace gputopo::cli {
namespace {

// Lists the devices that --device accepts on this host, as the program itself sees them.
constexpr const char* kListDevices = "gputopo list 2>/dev/null | cut -d ' ' -f 1";

enum class Takes { kNothing, kFile, kFolder, kDevice, kWord, kWords, kFree };  // kWords: separated by commas

struct OptionFacts {
  std::string name;  // "--json", or the name of a positional
  std::string description;
  Takes takes = Takes::kNothing;
  std::vector<std::string> words;
  bool positional = false;
};

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.positional = option.get_positional();
  facts.name = option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
  facts.description = option.get_description();
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() == 0) {
    facts.takes = Takes::kNothing;
  } else if (facts.name == "--device") {
    facts.takes = Takes::kDevice;
  } else if (facts.name == "--only") {
    facts.takes = Takes::kWords;
    for (const ElementInfo& element : element_catalogue()) facts.words.emplace_back(element.name);
    facts.words.emplace_back(kInstructions);
    facts.words.emplace_back(kPipesGroup);
  } else if (facts.name == "--attribute") {
    facts.takes = Takes::kWords;
    facts.words = element_attribute_names();
  } else if (facts.name == "--format") {
    facts.takes = Takes::kWord;
    for (const CheckFormat& format : check_formats()) facts.words.emplace_back(format.name);
  } else if (facts.name == "PATH") {
    facts.takes = Takes::kWord;
    facts.words = report::known_paths();
  } else if (facts.name == "SHELL") {
    facts.takes = Takes::kWord;
    facts.words = completion_shells();
  } else if (type == "DIR") {
    facts.takes = Takes::kFolder;
  } else if (type == "SECONDS" || type == "N" || facts.name == "--tolerance") {
    facts.takes = Takes::kFree;
  } else {
    facts.takes = Takes::kFile;
  }
  return facts;
}

struct CommandFacts {
  std::string name;  // empty: the program itself; "fleet merge": a nested command
  std::string description;
  std::vector<OptionFacts> options;
};

void add_commands(const CLI::App& app, const std::string& name, std::vector<CommandFacts>& commands) {
  CommandFacts command{name, app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) command.options.push_back(facts_of(*option));
  commands.push_back(std::move(command));
  for (const CLI::App* own : app.get_subcommands([](const CLI::App*) { return true; })) {
    add_commands(*own, name.empty() ? own->get_name() : name + " " + own->get_name(), commands);
  }
}

std::vector<CommandFacts> commands_of(const CLI::App& app) {
  std::vector<CommandFacts> commands;
  add_commands(app, "", commands);
  return commands;
}

// The words that may follow a command: its nested commands; for the program itself, the commands.
std::vector<const CommandFacts*> own_commands(const std::vector<CommandFacts>& commands, const std::string& name) {
  std::vector<const CommandFacts*> own;
  for (const CommandFacts& command : commands) {
    const std::size_t blank = command.name.rfind(' ');
    const std::string above = blank == std::string::npos ? "" : command.name.substr(0, blank);
    if (!command.name.empty() && above == name) own.push_back(&command);
  }
  return own;
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

std::vector<std::string> names_of(const std::vector<const CommandFacts*>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts* command : commands) names.push_back(last_word(command->name));
  return names;
}

// Arms of a case over "$command:$word", which lead from the current command to one of its nested commands.
std::string command_arms(const std::vector<CommandFacts>& commands) {
  std::string text;
  for (const CommandFacts& command : commands) {
    const std::vector<const CommandFacts*> own = own_commands(commands, command.name);
    if (own.empty()) continue;
    const std::string prefix = report::shell_quoted(command.name + ":");
    text +=
        fmt::format("      {}{}) command={}$word ;;\n", prefix, fmt::join(names_of(own), fmt::format("|{}", prefix)),
                    command.name.empty() ? "" : report::shell_quoted(command.name + " "));
  }
  return text;
}

using report::shell_quoted;

std::string word_list(const OptionFacts& option) {
  return shell_quoted(fmt::format("{}", fmt::join(option.words, " ")));
}

// Sets COMPREPLY for `current`.
std::string bash_values(const OptionFacts& option) {
  switch (option.takes) {
    case Takes::kWord:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))", word_list(option));
    case Takes::kWords:
      return fmt::format("_gputopo_list {}", word_list(option));
    case Takes::kDevice:
      return fmt::format("COMPREPLY=($(compgen -W \"$({})\" -- \"$current\"))", kListDevices);
    case Takes::kFolder:
      return "_gputopo_files -d";
    case Takes::kFile:
      return "_gputopo_files -f";
    case Takes::kNothing:
    case Takes::kFree:
      break;
  }
  return "COMPREPLY=()";
}

// The options generate the part between the functions.
constexpr const char* kBashBegin = R"BASH(# bash completion of gputopo. Load it with: source <(gputopo completion bash)

# Completes the last of several words separated by commas.
_gputopo_list() {
  local before=
  [[ $current == *,* ]] && before=${current%,*},
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "${current##*,}"))
}
_gputopo_files() {
  compopt -o filenames 2>/dev/null
  local IFS=$'\n'
  COMPREPLY=($(compgen "$1" -- "$current"))
}
# Sets `words` to the command line up to the cursor. Bash breaks it at ':' and '=', which are parts of words here.
_gputopo_words() {
  local rest=$COMP_LINE trimmed i last=-1
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    trimmed=${rest#"${rest%%[![:space:]]*}"}
    if ((i > 0)) && [[ $trimmed == "$rest" && (${COMP_WORDS[i]} == [:=]* || ${COMP_WORDS[i-1]} == *[:=]) ]]; then
      words[last]+=${COMP_WORDS[i]}
    else
      words[++last]=${COMP_WORDS[i]}
    fi
    rest=${trimmed#"${COMP_WORDS[i]}"}
  done
}
_gputopo() {
  local words current before command= word breaks broken= i
  _gputopo_words
  current=${words[${#words[@]}-1]} before=${words[${#words[@]}-2]}
  for word in "${words[@]:1:${#words[@]}-2}"; do
    case $command:$word in
)BASH";

constexpr const char* kBashEnd = R"BASH(  esac
  # Bash keeps the text before the last character at which it breaks words.
  breaks=${COMP_WORDBREAKS//[!:=]/}
  [[ -n $breaks ]] && broken=${current%"${current##*["$breaks"]}"}
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$broken"}; done
}
complete -F _gputopo gputopo
)BASH";

// "show:" or 'fleet merge:' in a pattern.
std::string quoted_command(const CommandFacts& command) {
  const bool is_word = command.name.find(' ') == std::string::npos;
  return is_word ? command.name + ":" : shell_quoted(command.name + ":");
}

std::string bash(const std::vector<CommandFacts>& commands) {
  std::string text = kBashBegin;
  text += command_arms(commands) + "    esac\n  done\n";
  text +=
      "  if [[ $current == --*=* ]]; then\n    before=${current%%=*} current=${current#*=}\n  fi\n"
      "  case $command:$before in\n";
  for (const CommandFacts& command : commands) {
    for (const OptionFacts& option : command.options) {
      if (option.positional || option.takes == Takes::kNothing) continue;
      text += fmt::format("    {}{}) {} ;;\n", quoted_command(command), option.name, bash_values(option));
    }
  }
  for (const CommandFacts& command : commands) {
    std::vector<std::string> words;
    std::string positional;
    for (const OptionFacts& option : command.options) {
      if (option.positional) {
        positional = bash_values(option);
      } else {
        words.push_back(option.name);
      }
    }
    for (const std::string& name : names_of(own_commands(commands, command.name))) words.push_back(name);
    const std::string own = fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\"))",
                                        shell_quoted(fmt::format("{}", fmt::join(words, " "))));
    text += fmt::format("    {}*) ", quoted_command(command));
    text += positional.empty() ? own + " ;;\n"
                               : fmt::format("if [[ $current == -* ]]; then {}; else {}; fi ;;\n", own, positional);
  }
  return text + kBashEnd;
}

// Escapes a description within an _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_values(const OptionFacts& option) {
  switch (option.takes) {
    case Takes::kNothing:
      return "";
    case Takes::kWord:
      return fmt::format(":value:({})", fmt::join(option.words, " "));
    case Takes::kWords:
      return fmt::format(":value:_values -s , value {}", fmt::join(option.words, " "));
    case Takes::kDevice:
      return ":device:_gputopo_devices";
    case Takes::kFolder:
      return ":folder:_files -/";
    case Takes::kFile:
      return ":file:_files";
    case Takes::kFree:
      return ":value: ";
  }
  return "";
}

std::string zsh_arguments(const CommandFacts& command, const char* indent) {
  std::string text = "_arguments -s";
  for (const OptionFacts& option : command.options) {
    const std::string specification =
        option.positional ? "*" + zsh_values(option)
                          : fmt::format("{}{}[{}]{}", option.name, option.takes == Takes::kNothing ? "" : "=",
                                        zsh_text(option.description), zsh_values(option));
    text += fmt::format(" \\\n{}  {}", indent, shell_quoted(specification));
  }
  return text;
}

std::string zsh(const std::vector<CommandFacts>& commands) {
  std::string text = "#compdef gputopo\n# zsh completion of gputopo. Save it as _gputopo in a folder of $fpath.\n";
  text += fmt::format(
      "_gputopo_devices() {{\n  local -a devices\n  devices=(${{(f)\"$({})\"}})\n  compadd -a devices\n}}\n",
      kListDevices);
  text += "_gputopo() {\n  local -a commands\n  commands=(\n";
  for (const CommandFacts* command : own_commands(commands, "")) {
    text += fmt::format("    {}\n", shell_quoted(command->name + ":" + zsh_text(command->description)));
  }
  text += "  )\n  local word command=\n  for word in ${words[2,CURRENT-1]}; do\n    case $command:$word in\n";
  text += command_arms(commands) + "    esac\n  done\n  case $command in\n";
  for (const CommandFacts& command : commands) {
    if (command.name.empty()) continue;
    const std::vector<std::string> own = names_of(own_commands(commands, command.name));
    text += fmt::format("    {})\n      {}{} ;;\n", shell_quoted(command.name), zsh_arguments(command, "      "),
                        own.empty() ? "" : fmt::format(" \\\n        '1:command:({})'", fmt::join(own, " ")));
  }
  text += fmt::format("    *)\n      {} \\\n        '*::command:{{ _describe command commands }}' ;;\n",
                      zsh_arguments(commands.front(), "      "));
  return text + "  esac\n}\n_gputopo \"$@\"\n";
}

// The values that an option or a positional takes.
std::string fish_values(const OptionFacts& option) {
  switch (option.takes) {
    case Takes::kFile:
      return " -F";
    case Takes::kFolder:
      return " -a '(__fish_complete_directories)'";
    case Takes::kDevice:
      return fmt::format(" -a {}", shell_quoted(fmt::format("({})", kListDevices)));
    case Takes::kWord:
      return fmt::format(" -a {}", word_list(option));
    case Takes::kWords:
      return fmt::format(" -a {}", shell_quoted(fmt::format("(__fish_append , {})", fmt::join(option.words, " "))));
    case Takes::kNothing:
    case Takes::kFree:
      break;
  }
  return "";
}

// `when`: the condition for offering it.
std::string fish_option(const OptionFacts& option, const std::string& when) {
  std::string line = fmt::format("complete -c gputopo -n {}", shell_quoted(when));
  if (!option.positional) {
    line += fmt::format(" -l {} -d {}", option.name.substr(2), shell_quoted(option.description));
    const bool takes_path = option.takes == Takes::kFile || option.takes == Takes::kFolder;
    if (option.takes != Takes::kNothing) line += takes_path ? " -r" : " -x";
  }
  return line + fish_values(option) + "\n";
}

std::string fish(const std::vector<CommandFacts>& commands) {
  const auto none_of = [&](const std::string& name) {
    return fmt::format("not __fish_seen_subcommand_from {}", fmt::join(names_of(own_commands(commands, name)), " "));
  };
  const auto seen = [](const std::string& name) {
    std::string text = "__fish_seen_subcommand_from " + name;
    const std::size_t blank = text.rfind(' ');
    if (name.find(' ') != std::string::npos) text.replace(blank, 1, "; and __fish_seen_subcommand_from ");
    return text;
  };
  std::string text =
      "# fish completion of gputopo. Load it with: gputopo completion fish | source\ncomplete -c gputopo -f\n";
  for (const CommandFacts& command : commands) {
    const std::string when = command.name.empty() ? none_of("") : seen(command.name);
    for (const CommandFacts* own : own_commands(commands, command.name)) {
      const std::string before =
          command.name.empty() ? none_of("") : seen(command.name) + "; and " + none_of(command.name);
      text += fmt::format("complete -c gputopo -n {} -a {} -d {}\n", shell_quoted(before), last_word(own->name),
                          shell_quoted(own->description));
    }
    for (const OptionFacts& option : command.options) text += fish_option(option, when);
  }
  return text;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> kShells = {"bash", "zsh", "fish"};
  return kShells;
}

std::string completion(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandFacts> commands = commands_of(app);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  return bash(commands);
}

}  // namespace gputopo::cli
